/**
 * The acts of merchants, the bank and ops, in the order that the contract wants: the bank is asked before the
 * mailbox, where that moves no money, and everything that decides is decided inside.
 */
import { type Account, keyOf } from '../domain/account.ts';
import { cashoutFee } from '../domain/fees.ts';
import { checkMessage, type FieldError, knownParts, withoutNulls } from '../domain/message-data.ts';
import { type By, MESSAGE_TYPES, type MessageData } from '../domain/messages.ts';
import { mergePayer } from '../domain/people/payer.ts';
import type { PixKeyType } from '../domain/people/pix-key-types.ts';
import { LONGEST_WHAT } from '../domain/sentences/commands.ts';
import type { ItemCode, ItemData } from '../domain/sentences/item-codes.ts';
import { textOfTime } from '../domain/time.ts';
import type { Metadata } from '../domain/transactions.ts';
import { HandedOver, Overloaded } from './actors/host.ts';
import { itemFor } from './attention/item.ts';
import { type Bank, type BankMessage, BankRefused } from './bank.ts';
import type { Answer, SentMessage, SoundMessage } from './commands.ts';
import { signed } from './decision.ts';
import type { Engine, SendOptions } from './engine.ts';
import type { ChargeRecord, Door, TransactionRecord } from './journal.ts';
import { lookUp } from './lookups.ts';
import { type ChargeRequest, chargeToRegister, newCharge } from './new-charge.ts';
import {
  type CancelRequest,
  ChargeOrders,
  type ChargeOrdersOptions,
  type OpsOrder,
  type RefundAnswer,
  type RefundRequest,
} from './refunds/orders.ts';
import { digestOf, sha256 } from './store/content.ts';
import type { AttentionItem, JournalReads } from './store.ts';

export interface TransferRequest {
  amount: number;
  idempotencyKey: string | null;
  externalRef: string | null;
  description: string | null;
  metadata: Metadata;
  pixKeyType: PixKeyType;
  pixKey: string;
}

/** A message as it came through a door. */
export interface IncomingMessage extends Pick<BankMessage, 'type' | 'sameAs' | 'ofPayment'> {
  /** Null: the engine makes one up. */
  id: string | null;
  data: Record<string, unknown> | null;
}

/** A message as the bank sent it, that no transaction has taken. */
export interface UnknownMessage {
  id: string;
  transactionId: string;
  type: string;
  data: unknown;
}

export type MessageAnswer = Answer | { kind: 'malformed'; details: FieldError[] };

export interface PaymentsOptions {
  engine: Engine;
  journal: JournalReads;
  bank: Bank;
  now(): number;
  newId(): string;
  /** `CHARGE_EXPIRY_S`. */
  chargeExpiryS: number;
}

export class Payments {
  readonly #options: PaymentsOptions;
  readonly #orders: ChargeOrders;

  constructor(options: PaymentsOptions) {
    this.#options = options;
    const tell: ChargeOrdersOptions['tell'] = (record, message, sendOptions) =>
      this.tell(record, message, 'bank', sendOptions);
    this.#orders = new ChargeOrders({ ...options, tell, cancelAsOps: (...order) => this.#cancel(...order) });
  }

  async #cancel(record: ChargeRecord, { id, by }: OpsOrder, options: SendOptions): Promise<Answer> {
    const answer = await this.tell(record, { id, type: 'CANCEL', data: {} }, 'ops', { ...options, by });
    if (answer.kind === 'malformed') throw new Error('a CANCEL without data was called malformed');
    return answer;
  }

  /**
   * A key that is there already is answered before the bank hears of the charge.
   * @throws BankRefused: nothing is created.
   */
  async createCharge(account: Account, request: ChargeRequest, options: SendOptions): Promise<Answer> {
    const { bank, engine, journal, newId, chargeExpiryS } = this.#options;
    const { idempotencyKey = null } = request;
    const known =
      idempotencyKey === null ? null : await lookUp(journal, account.id, 'chargeKey', idempotencyKey);
    if (known !== null) return { kind: 'duplicateKey', transaction: known };
    const id = newId();
    const expiresIn = request.expiresIn ?? account.expiresIn ?? chargeExpiryS;
    const registered = await bank.register(chargeToRegister(id, account, request, expiresIn));
    const charge = newCharge(account, request, expiresIn, registered);
    const { wakeInMs } = registered;
    const answer = await engine.send(account.id, { kind: 'createCharge', id, charge, wakeInMs }, options);
    // A racer with the same key was first: nobody has seen this charge, and where it stays at the bank it expires.
    if (answer.kind === 'duplicateKey') bank.cancel({ id }).catch(() => {});
    return answer;
  }

  /** @throws BankRefused: nothing is debited. */
  refund(account: Account, request: RefundRequest, options: SendOptions): Promise<RefundAnswer> {
    return this.#orders.refund(account, request, options);
  }

  /** @throws BankRefused: nothing is changed, or nobody knows. */
  cancel(account: Account, request: CancelRequest, options: SendOptions): Promise<Answer> {
    return this.#orders.cancel(account, request, options);
  }

  /**
   * The key comes before the balance, the balance before the bank. The engine asks for the key itself, so it is asked for
   * here only where something speaks against the transfer.
   * @throws BankRefused: nothing is created, nothing is debited.
   */
  async createTransfer(account: Account, request: TransferRequest, options: SendOptions): Promise<Answer> {
    const { engine, newId } = this.#options;
    const { amount, idempotencyKey } = request;
    const totalFee = cashoutFee(account.fees, amount);
    const refusal = await this.#refusalOf(account, request, amount + totalFee);
    if (refusal !== null) {
      const known = await this.#transferOf(account, idempotencyKey);
      if (known !== null) return { kind: 'duplicateKey', transaction: known };
      if (refusal instanceof BankRefused) throw refusal;
      return refusal;
    }
    // The part that is added comes first: Node 20 takes five times as long to add one to a copy.
    const transfer = { fee: { netAmount: amount - totalFee, totalFee }, ...request };
    try {
      return await engine.send(account.id, { kind: 'createTransfer', id: newId(), transfer }, options);
    } catch (error) {
      // Nothing was decided: who repeats a transfer is told of it all the same.
      const known = error instanceof Overloaded ? await this.#transferOf(account, idempotencyKey) : null;
      if (known === null) throw error;
      return { kind: 'duplicateKey', transaction: known };
    }
  }

  /** What speaks against a transfer before it is tried; null: nothing. `needed`: with its fee, in cents. */
  async #refusalOf(
    account: Account,
    { amount, pixKeyType, pixKey }: TransferRequest,
    needed: number,
  ): Promise<(Answer & { kind: 'insufficientBalance' }) | BankRefused | null> {
    const { bank, engine } = this.#options;
    const available = await engine.provisionalBalance(account.id, needed);
    if (available < needed) return { kind: 'insufficientBalance', available };
    try {
      await bank.check({ amount, pixKeyType, pixKey, from: keyOf(account) });
      return null;
    } catch (error) {
      if (error instanceof BankRefused) return error;
      throw error;
    }
  }

  /** The transfer that has the key already. */
  async #transferOf(account: Account, key: string | null): Promise<string | null> {
    if (key === null) return null;
    return lookUp(this.#options.journal, account.id, 'idempotencyKey', key);
  }

  /** A message to a transaction that nobody knows: money in it is a person's case. */
  async noteUnknown(message: UnknownMessage): Promise<void> {
    await this.#options.engine.note([this.#stray('TRANSACTION_UNKNOWN', message, strayData(message), null)]);
  }

  /** A message of the bank's that could not be decided, for a reason that lies with us. */
  async noteUndecided(message: UnknownMessage, reason: string): Promise<void> {
    const record = await this.#options.journal.transaction(message.transactionId.toLowerCase());
    await this.#noteUndecided(message, reason, record);
  }

  async #noteUndecided(message: UnknownMessage, reason: string, of: TransactionRecord | null): Promise<void> {
    const data = { ...strayData(message), reason };
    await this.#options.engine.note([this.#stray('MESSAGE_UNDECIDED', message, data, of)]);
  }

  #stray<Code extends ItemCode>(
    code: Code,
    { id, transactionId, type, data: content }: UnknownMessage,
    data: ItemData[Code],
    record: TransactionRecord | null,
  ): AttentionItem {
    const key = sha256(JSON.stringify([id, transactionId, digestOf(type, content)])).slice(0, 24);
    const since = textOfTime(this.#options.now());
    const about = record === null ? {} : { account: record.account, transaction: record.id };
    const amount = record?.snapshot.context.amount ?? null;
    return itemFor(code, { id: `msg_${key}`, since, about, data }, amount);
  }

  /**
   * Sends a message to a transaction that exists, through any door. What the bank says is recorded even where it
   * can't be taken; a merchant or ops are simply told.
   */
  async tell(
    record: TransactionRecord,
    incoming: IncomingMessage,
    door: Door,
    options: SendOptions & { by?: By } = {},
  ): Promise<MessageAnswer> {
    const { bank, newId } = this.#options;
    const { type } = incoming;
    const given = incoming.data ?? {};
    const id = incoming.id ?? newId();
    const kept = this.#filledIn(record, { id, type, data: given }, door);
    const message: SoundMessage = {
      kind: 'message',
      transaction: record.id,
      door,
      id,
      type,
      kept,
      digest: digestOf(type, withoutNulls(given)),
      data: {},
      ...(incoming.sameAs !== undefined && { sameAs: incoming.sameAs }),
      ...(incoming.ofPayment !== undefined && { ofPayment: incoming.ofPayment }),
      ...signed(options.by),
    };
    const mistakes = checkMessage(record.type, type, kept, bank.looseIds);
    if (mistakes.length === 0) {
      const data = chartData(record, type, kept);
      return this.#send(record, { ...message, data }, options);
    }
    // An id that was applied is looked at before the data: with other content it is refused, whatever that is.
    const isKnown = MESSAGE_TYPES[record.type].includes(type);
    if (isKnown && Object.hasOwn(record.messages, id)) return this.#send(record, message, options);
    if (door !== 'bank') return { kind: 'malformed', details: mistakes };
    const problem = mistakes.map(({ field, message: what }) => `${field} ${what}`).join('; ');
    const { data: _unread, ...sent } = message;
    return this.#send(record, { ...sent, kind: 'invalidMessage', problem }, options);
  }

  /** Records what the bank said to a transaction, and what can't even be read as a message. */
  recordInvalid(
    record: TransactionRecord,
    { id, type, data }: { id: string; type: string; data: Record<string, unknown> },
    problem: string,
    options: SendOptions,
  ): Promise<Answer> {
    const digest = digestOf(type, withoutNulls(data));
    const sent = { transaction: record.id, door: 'bank' as const, id, type, kept: data, digest };
    return this.#send(record, { kind: 'invalidMessage', ...sent, problem }, options);
  }

  #send({ account }: TransactionRecord, message: SentMessage, options: SendOptions): Promise<Answer> {
    const answer = this.#options.engine.send(account, message, options);
    return message.door === 'bank' ? answer.catch((error) => this.#notTaken(message, error)) : answer;
  }

  /** Where another store has the account, ops have to see to it: by an item of no account, whose journal takes nothing. */
  async #notTaken({ id, transaction, type, kept }: SentMessage, error: unknown): Promise<never> {
    const message = { id, transactionId: transaction, type, data: kept };
    if (error instanceof HandedOver) await this.#noteUndecided(message, error.message, null);
    throw error;
  }

  /** The bank's own messages are complete; those through another door, some banks fill in. */
  #filledIn(record: TransactionRecord, message: BankMessage, door: Door): Record<string, unknown> {
    const { bank, now } = this.#options;
    if (door === 'bank' || bank.fillIn === null) return message.data;
    return bank.fillIn(record, { ...message, data: withoutNulls(message.data) }, now());
  }
}

/** What the sentences about such a message need. */
function strayData({ id, transactionId, type, data }: UnknownMessage): ItemData['TRANSACTION_UNKNOWN'] {
  const content = `${JSON.stringify(data)}`.slice(0, LONGEST_WHAT);
  return { transactionId, message: type, messageId: id, content };
}

/** The parts of a message's checked data that its chart reads; a payer is merged with the charge's customer. */
export function chartData(
  record: TransactionRecord,
  type: string,
  data: Record<string, unknown>,
): MessageData {
  const parts = knownParts(record.type, type, data);
  if (record.type !== 'pix-in' || (type !== 'PAY' && type !== 'HOLD')) return parts;
  return Object.assign(parts, { payer: mergePayer(record.snapshot.context.customer ?? null, data.payer) });
}
