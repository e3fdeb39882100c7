/** Transfers, where the bank sends: ordered and asked about as its profile says. */
import type { MayBegin } from '../../engine/bank.ts';
import { sha256 } from '../../engine/store/content.ts';
import { pagesOf, type Window } from './payments.ts';
import { bare, type Order, type Sending, type SendingProfile, type SendingRef } from './profile.ts';
import { type Answer, textIn } from './reading.ts';
import { type BankClient, throwUnreadable } from './wire/client.ts';
import type { Request } from './wire/exchange.ts';

const ORDER_MS = 20_000;
const QUESTION_MS = 8_000;

/** A transfer of the bank's list that can't be read. */
export interface UnreadSending {
  /** What tells it from others. */
  unread: string;
  /** What the bank calls it; null where it doesn't say. */
  id: string | null;
}

/** What banks call a transfer, in the standard's lists or their own. */
const NAMES = ['endToEndId', 'e2eId', 'idEnvio', 'id'];

function unreadOf(item: Answer): UnreadSending {
  const id = NAMES.map((name) => textIn(item, name)).find((each) => each !== null) ?? null;
  return { unread: sha256(id ?? JSON.stringify(item)).slice(0, 24), id };
}

/** @throws CallFailed where an answer is about another transfer than this one, or about none */
function sendingIn(sending: Sending | null, { id, bankId }: SendingRef): Sending {
  if (sending === null) return throwUnreadable();
  const isOther = sending.id !== null && sending.id.toLowerCase() !== bare(id).toLowerCase();
  const isOthers = bankId !== null && sending.bankId !== null && sending.bankId !== bankId;
  return isOther || isOthers ? throwUnreadable() : sending;
}

export class Sendings {
  readonly #client: BankClient;
  readonly #profile: SendingProfile;
  readonly #basePath: string;

  /** `basePath` is that of the bank's base, before the profile's own paths. */
  constructor(client: BankClient, profile: SendingProfile, basePath: string) {
    this.#client = client;
    this.#profile = profile;
    this.#basePath = basePath;
  }

  /** Whether the same order again can't pay twice. */
  get canRepeat(): boolean {
    return this.#profile.repeat === 'safe';
  }

  /** Whether the bank lists transfers. */
  get lists(): boolean {
    return this.#profile.listPath !== null;
  }

  /** Whether the bank can be asked about a transfer of which this is known. */
  canAsk(ref: SendingRef): boolean {
    return this.#profile.question(ref) !== null;
  }

  /** @throws CallFailed: `unknown` is asked about, and never taken for a refusal */
  async order(order: Order, mayBegin?: MayBegin): Promise<Sending> {
    const { namesPayee } = this.#profile;
    const request = this.#at(this.#profile.order(order));
    const call = { name: 'order', request, deadlineMs: ORDER_MS, namesPayee, mayBegin };
    const answer = await this.#client.order(call);
    return sendingIn(this.#profile.readOrder(answer), { id: order.id, bankId: null });
  }

  /** What the bank knows; null where it knows no such transfer. @throws CallFailed */
  async ask(ref: SendingRef): Promise<Sending | null> {
    const question = this.#profile.question(ref);
    if (question === null) throw new Error('the bank is asked about a transfer only by an id of its own');
    const request = this.#at(question);
    const answer = await this.#client.ask({ name: 'question', request, deadlineMs: QUESTION_MS });
    return answer === null ? null : sendingIn(this.#profile.readAnswer(answer), ref);
  }

  /** The transfers of a window, page by page. @throws CallFailed */
  async *list(window: Window): AsyncGenerator<(Sending | UnreadSending)[]> {
    const { listPath } = this.#profile;
    if (listPath === null) return;
    const list = { name: 'LIST sent', path: this.#basePath + listPath, mayBeBare: true } as const;
    for await (const items of pagesOf(this.#client, list, window))
      yield items.map((item) => this.#profile.readAnswer(item) ?? unreadOf(item));
  }

  #at(request: Request): Request {
    return { ...request, path: this.#basePath + request.path };
  }
}
