/** Payments that the bank has received for us (`/pix`), their returns, and the list of them page by page. */

import type { MayBegin } from '../../engine/bank.ts';
import { centsOf, reaisText } from './money-text.ts';
import { JSON_TYPE } from './profile.ts';
import {
  type Answer,
  endToEndIdIn,
  firstCharacters,
  listIn,
  objectIn,
  objectOf,
  textIn,
  timeIn,
  wholeIn,
} from './reading.ts';
import { type BankClient, throwUnreadable } from './wire/client.ts';
import type { Request } from './wire/exchange.ts';
import { CallFailed } from './wire/outcome.ts';

/** A return (`devolucao`) of a payment. */
export interface PaymentReturn {
  /** Ours where we made it; the bank's otherwise. */
  id: string;
  /** `D...`; null until known. */
  returnId: string | null;
  /** Cents. */
  amount: number;
  /** `ORIGINAL` where the bank says nothing. */
  nature: string;
  status: string;
  reason: string | null;
  /** When it was settled: ISO 8601, UTC; null where the bank doesn't say. */
  settledAt: string | null;
}

/** A payment. */
export interface Payment {
  endToEndId: string;
  /** Of the charge that was paid; of a static code, or null, otherwise. */
  txid: string | null;
  /** Cents. */
  amount: number;
  /** Null where the bank doesn't say. */
  pixKey: string | null;
  /** ISO 8601, UTC. */
  paidAt: string;
  returns: PaymentReturn[];
}

/** A payment that can't be read: it waits, and a person looks at it. */
export interface UnreadPayment {
  unread: string;
  endToEndId: string | null;
  txid: string | null;
}

const QUESTION_MS = 8_000;
const RETURN_MS = 8_000;
const LIST_MS = 30_000;
const PAGE = 1_000;
const DESCRIPTION_MOST = 140;

/** A return; null where id, amount or status can't be read. */
function readReturn(answer: Answer): PaymentReturn | null {
  const id = textIn(answer, 'id');
  const amount = centsOf(answer.valor);
  const status = textIn(answer, 'status');
  if (id === null || amount === null || amount === 0 || status === null) return null;
  return {
    ...{ id, amount, status, returnId: textIn(answer, 'rtrId') },
    nature: textIn(answer, 'natureza') ?? 'ORIGINAL',
    reason: textIn(answer, 'motivo'),
    settledAt: timeIn(objectIn(answer, 'horario'), 'liquidacao'),
  };
}

/** A payment of a list or an answer, with what is wrong with it where it can't be read. */
export function readPayment(answer: Answer): Payment | UnreadPayment {
  const endToEndId = endToEndIdIn(answer, 'endToEndId');
  const txid = textIn(answer, 'txid');
  const amount = centsOf(answer.valor);
  const paidAt = timeIn(answer, 'horario');
  const unread = (what: string): UnreadPayment => ({ unread: what, endToEndId, txid });
  if (endToEndId === null) return unread('its end-to-end id is none');
  if (amount === null || amount === 0) return unread("its amount isn't exactly cents");
  if (paidAt === null) return unread("its time can't be read");
  const told = listIn(answer, 'devolucoes');
  const returns = told.map(readReturn).filter((each) => each !== null);
  // Which ones it is belongs to what ops hear: they may be done with the first when a second one comes.
  const broken = told
    .filter((each) => readReturn(each) === null)
    .map((each) => textIn(each, 'id') ?? 'no id');
  if (broken.length > 0) return unread(`one of its returns can't be read (${broken.join(', ')})`);
  return { endToEndId, txid, amount, pixKey: textIn(answer, 'chave'), paidAt, returns };
}

/** A window of time, ms: both ends belong to it. */
export interface Window {
  from: number;
  to: number;
}

/** The list changed while it was read, so that an item may have slipped from one page to another. */
export class ListShifted extends CallFailed {
  constructor() {
    super('unknown', "the bank's list changes while it is read");
  }
}

/** A list of the bank's, and how it is asked for. */
interface List {
  name: string;
  path: string;
  /** What the answer calls its items: `pix` where nothing is said. */
  items?: string;
  filter?: Record<string, string>;
  /** It may come as the array of its items alone, which counts no pages. */
  mayBeBare?: true;
}

/** So long is no list: whoever gives more pages gives them without an end. */
const MOST_PAGES = 10_000;

function requestOf({ path, filter }: List, { from, to }: Window, page: number): Request {
  const query = new URLSearchParams({
    inicio: new Date(from).toISOString(),
    fim: new Date(to).toISOString(),
    ...filter,
    'paginacao.paginaAtual': String(page),
    'paginacao.itensPorPagina': String(PAGE),
  });
  return { method: 'GET', path: `${path}?${query}` };
}

/** The items of a bare array. @throws CallFailed */
function bareItems(answer: readonly unknown[]): Answer[] {
  return answer.map((item) => objectOf(item) ?? throwUnreadable());
}

/**
 * Asks for all pages of a list within a window, and gives their items as they come.
 * @throws ListShifted at the end, CallFailed
 */
export async function* pagesOf(client: BankClient, list: List, window: Window): AsyncGenerator<Answer[]> {
  const { name, items = 'pix', mayBeBare = false } = list;
  let total: number | null = null;
  let before = '';
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const request = requestOf(list, window, page);
    const answer = await client.list({ name, request, deadlineMs: LIST_MS });
    if (Array.isArray(answer)) {
      if (!mayBeBare) break;
      // The last page is behind the last one that brings anything, or anything new.
      const told = JSON.stringify(answer);
      if (answer.length === 0 || told === before) return;
      before = told;
      yield bareItems(answer);
      continue;
    }
    yield listIn(answer, items);
    const paging = objectIn(objectIn(answer, 'parametros'), 'paginacao');
    const pages = wholeIn(paging, 'quantidadeDePaginas');
    // A list that doesn't count its pages, or gives another one than was asked for, is not to be taken for the whole.
    if (pages === null || (wholeIn(paging, 'paginaAtual') ?? page) !== page) break;
    const now = wholeIn(paging, 'quantidadeTotalDeItens');
    total ??= now;
    if (now !== total) throw new ListShifted();
    // What counts items and has no list of them is not empty.
    if (!Array.isArray(answer[items]) && (now ?? 1) > 0) break;
    if (page + 1 >= pages) return;
  }
  throwUnreadable();
}

export class Payments {
  readonly #client: BankClient;
  readonly #path: string;

  /** `path` is the API's, before `/pix`. */
  constructor(client: BankClient, path: string) {
    this.#client = client;
    this.#path = `${path}/pix`;
  }

  /** A payment; null where the bank knows none. @throws CallFailed */
  async ask(endToEndId: string): Promise<Payment | UnreadPayment | null> {
    const request = { method: 'GET', path: this.#of(endToEndId) } as const;
    const answer = await this.#client.ask({ name: 'GET pix', request, deadlineMs: QUESTION_MS });
    return answer === null ? null : paymentIn(answer, endToEndId);
  }

  /** The payments of a window, page by page; `withReturns`: only those that have some. @throws CallFailed */
  async *list(window: Window, { withReturns = false } = {}): AsyncGenerator<(Payment | UnreadPayment)[]> {
    const filter = withReturns ? { devolucaoPresente: 'true' } : {};
    const list = { name: 'LIST pix', path: this.#path, filter };
    for await (const items of pagesOf(this.#client, list, window)) yield items.map(readPayment);
  }

  /**
   * Gives a payment back, whole or in part, under an id of ours: 1 to 35 letters and digits. A repeat is the
   * caller's to decide, after asking.
   * @throws CallFailed
   */
  async giveBack(
    payment: { endToEndId: string; id: string },
    amount: number,
    description: string | null = null,
    mayBegin?: MayBegin,
  ): Promise<PaymentReturn> {
    const descricao = description === null ? '' : firstCharacters(description, DESCRIPTION_MOST);
    const body = JSON.stringify({
      ...{ valor: reaisText(amount), natureza: 'ORIGINAL' },
      ...(descricao === '' ? {} : { descricao }),
    });
    const path = this.#returnPath(payment);
    const request = { method: 'PUT', path, body, headers: { 'content-type': JSON_TYPE } } as const;
    const call = { name: 'PUT devolucao', request, deadlineMs: RETURN_MS, mayBegin };
    const answer = await this.#client.order(call);
    return returnIn(answer, payment);
  }

  /** A return; null where the bank knows none. @throws CallFailed */
  async askReturn(payment: { endToEndId: string; id: string }): Promise<PaymentReturn | null> {
    const request = { method: 'GET', path: this.#returnPath(payment) } as const;
    const answer = await this.#client.ask({ name: 'GET devolucao', request, deadlineMs: QUESTION_MS });
    return answer === null ? null : returnIn(answer, payment);
  }

  #of(endToEndId: string): string {
    return `${this.#path}/${encodeURIComponent(endToEndId)}`;
  }

  #returnPath({ endToEndId, id }: { endToEndId: string; id: string }): string {
    return `${this.#of(endToEndId)}/devolucao/${encodeURIComponent(id)}`;
  }
}

/** @throws CallFailed where an answer is about another payment than this one */
function paymentIn(answer: Answer, endToEndId: string): Payment | UnreadPayment {
  const payment = readPayment(answer);
  const isOther = payment.endToEndId !== null && payment.endToEndId !== endToEndId;
  return isOther ? throwUnreadable() : payment;
}

/** @throws CallFailed where an answer is about another return than this one, or about none */
function returnIn(answer: Answer, { id }: { id: string }): PaymentReturn {
  const found = readReturn(answer);
  return found === null || found.id !== id ? throwUnreadable() : found;
}
