/** Charges at the bank (`/cob`): registered, asked about, removed. */
import { composeDynamicBrCode, parseBrCode } from '../../domain/br-code.ts';
import { isCnpj, isCpf } from '../../domain/people/document.ts';
import { centsOf, reaisText } from './money-text.ts';
import { type Payment, pagesOf, readPayment, type UnreadPayment, type Window } from './payments.ts';
import { bare, JSON_TYPE } from './profile.ts';
import { type Answer, firstCharacters, listIn, objectIn, textIn } from './reading.ts';
import { type BankClient, throwUnreadable } from './wire/client.ts';
import { CallFailed } from './wire/outcome.ts';

/** A charge to register. */
export interface ChargeOrder {
  /** Ours: a UUID. */
  id: string;
  /** Cents. */
  amount: number;
  /** Seconds from now. */
  expiresInS: number;
  /** The key that receives. */
  pixKey: string;
  merchantName: string;
  merchantCity: string;
  description: string | null;
  additionalInfo: string | null;
  customer: { name: string | null; document: string | null } | null;
}

/** A charge as the bank tells of it. */
export interface BankCharge {
  txid: string | null;
  status: string | null;
  /** Cents. */
  amount: number | null;
  pixKey: string | null;
  location: string | null;
  /** `pixCopiaECola`, unchecked. */
  code: string | null;
  payments: Payment[];
  /** Payments in it that can't be read. */
  unread: UnreadPayment[];
}

const PUT_MS = 8_000;
const QUESTION_MS = 4_000;
const PATCH_MS = 8_000;
const ASKED_MOST = 140;
const DIGITS = /^\d{14}$/;

function callOf(method: 'PUT' | 'GET' | 'PATCH', path: string, deadlineMs: number, body?: string) {
  const sent = body === undefined ? {} : { body, headers: { 'content-type': JSON_TYPE } };
  return { name: `${method} cob`, request: { method, path, ...sent }, deadlineMs };
}

/** A debtor only with all that the document demands: a name, and a CPF or a CNPJ of digits. */
function debtorOf({ customer }: ChargeOrder): Answer {
  const nome = customer?.name ?? '';
  const document = customer?.document ?? '';
  if (nome === '') return {};
  if (isCpf(document)) return { devedor: { cpf: document, nome } };
  return DIGITS.test(document) && isCnpj(document) ? { devedor: { cnpj: document, nome } } : {};
}

/** The request's body: the same bytes whenever it is written. */
export function chargeBody(order: ChargeOrder): string {
  const asked = firstCharacters(order.additionalInfo ?? order.description ?? '', ASKED_MOST);
  return JSON.stringify({
    calendario: { expiracao: order.expiresInS },
    ...debtorOf(order),
    valor: { original: reaisText(order.amount) },
    chave: order.pixKey,
    ...(asked === '' ? {} : { solicitacaoPagador: asked }),
  });
}

export function readCharge(answer: Answer): BankCharge {
  const payments = listIn(answer, 'pix').map(readPayment);
  return {
    txid: textIn(answer, 'txid'),
    status: textIn(answer, 'status'),
    amount: centsOf(objectIn(answer, 'valor')?.original),
    pixKey: textIn(answer, 'chave'),
    location: textIn(answer, 'location') ?? textIn(objectIn(answer, 'loc'), 'location'),
    code: textIn(answer, 'pixCopiaECola'),
    payments: payments.filter((each) => 'amount' in each),
    unread: payments.filter((each) => 'unread' in each),
  };
}

/** @throws CallFailed where an answer is about another charge than this one, or about none: a gateway's notice, for one */
function chargeIn(answer: Answer, id: string): BankCharge {
  const charge = readCharge(answer);
  const isOther = charge.txid !== null && charge.txid !== bare(id);
  return charge.status === null || isOther ? throwUnreadable() : charge;
}

/** Whether a code is a dynamic one, sound by its CRC, and for nothing but this charge. */
function isOurs(code: string, { id, amount }: ChargeOrder, location: string | null): boolean {
  try {
    const parsed = parseBrCode(code);
    const isThere = location === null || parsed.url === withoutScheme(location);
    const isItsTxid = parsed.txid === null || parsed.txid === bare(id);
    return parsed.url !== null && isThere && isItsTxid && (parsed.amount ?? amount) === amount;
  } catch {
    return false;
  }
}

function withoutScheme(location: string): string {
  return location.replace(/^https?:\/\//i, '');
}

/**
 * The code that a payer scans: the bank's own where it is sound, else composed from where the charge lies. Null where
 * the bank says neither: a code is never made up.
 */
export function codeOf(order: ChargeOrder, { code, location }: BankCharge): string | null {
  if (code !== null && isOurs(code, order, location)) return code;
  if (location === null) return null;
  const { merchantName, merchantCity } = order;
  try {
    return composeDynamicBrCode({ url: location, merchantName, merchantCity });
  } catch {
    return null;
  }
}

function isSame(order: ChargeOrder, { txid, amount, pixKey, status }: BankCharge): boolean {
  const isSameKey = pixKey?.toLowerCase() === order.pixKey.toLowerCase();
  const isThere = status === null || !status.startsWith('REMOVIDA_');
  return txid === bare(order.id) && amount === order.amount && isSameKey && isThere;
}

export class Charges {
  readonly #client: BankClient;
  readonly #path: string;

  /** `path` is the API's, before `/cob`. */
  constructor(client: BankClient, path: string) {
    this.#client = client;
    this.#path = `${path}/cob`;
  }

  /**
   * Registers a charge within 20 s, or 24 where it has to be removed, and gives its code. Whatever fails leaves at most a charge at the bank that
   * nobody has seen.
   * @throws CallFailed
   */
  async register(order: ChargeOrder): Promise<string> {
    const charge = await this.#made(order);
    if (!isSame(order, charge)) {
      await this.#removeQuietly(order.id);
      throw new CallFailed('refused', 'the bank tells of another charge than was asked for');
    }
    const code = codeOf(order, charge);
    if (code === null) throw new CallFailed('refused', 'the bank gives neither a sound code nor a location');
    return code;
  }

  /** The bank's knowledge of a charge; null where it knows none. @throws CallFailed */
  async ask(id: string): Promise<BankCharge | null> {
    const answer = await this.#client.ask(callOf('GET', this.#pathOf(id), QUESTION_MS));
    return answer === null ? null : chargeIn(answer, id);
  }

  /** The charges that were made within a window, page by page. @throws CallFailed */
  async *list(window: Window): AsyncGenerator<BankCharge[]> {
    const list = { name: 'LIST cob', path: this.#path, items: 'cobs' };
    for await (const items of pagesOf(this.#client, list, window)) yield items.map(readCharge);
  }

  /** Removes a charge, so that nobody can pay it any more. @throws CallFailed */
  async remove(id: string, deadlineMs = PATCH_MS): Promise<BankCharge> {
    const body = JSON.stringify({ status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' });
    const answer = await this.#client.ask(callOf('PATCH', this.#pathOf(id), deadlineMs, body));
    if (answer !== null) return chargeIn(answer, id);
    throw new CallFailed('not-done', 'the bank knows no such charge', { status: 404 });
  }

  #pathOf(id: string): string {
    return `${this.#path}/${bare(id)}`;
  }

  /** After an unknown outcome the bank is asked first; the same request again only where it knows nothing. */
  async #made(order: ChargeOrder): Promise<BankCharge> {
    const path = this.#pathOf(order.id);
    const body = chargeBody(order);
    try {
      return readCharge(await this.#client.order(callOf('PUT', path, PUT_MS, body)));
    } catch (error) {
      if (!isUnknown(error)) throw error;
    }
    const found = await this.ask(order.id);
    if (found !== null) return found;
    try {
      return readCharge(await this.#client.order(callOf('PUT', path, QUESTION_MS, body)));
    } catch (error) {
      // The first one may have come in meanwhile, and banks differ in how they say "exists".
      const late = isUnknown(error) || isRefused(error) ? await this.ask(order.id) : null;
      if (late === null) throw error;
      return late;
    }
  }

  /** What can't be removed expires, and nobody has seen its code. */
  async #removeQuietly(id: string): Promise<void> {
    try {
      await this.remove(id, QUESTION_MS);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
    }
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof CallFailed && error.kind === 'unknown';
}

function isRefused(error: unknown): boolean {
  return error instanceof CallFailed && error.kind === 'refused';
}
