/**
 * What merchants, the bank and ops do, in the order that the contract wants: the bank is asked before the
 * mailbox, where that moves no money, and everything that decides is decided inside.
 */
import type { Account } from '../domain/account.ts';
import { type Customer, mergePayer } from '../domain/customer.ts';
import { cashoutFee, pixInFee } from '../domain/fees.ts';
import { checkMessageData, type FieldError, knownParts } from '../domain/message-data.ts';
import { MESSAGE_TYPES } from '../domain/messages.ts';
import type { PixKeyType } from '../domain/pix-key.ts';
import type { Charge, Metadata } from '../domain/transactions.ts';
import type { Bank } from './bank.ts';
import type { Answer, SentMessage } from './commands.ts';
import type { Engine, SendOptions } from './engine.ts';
import { type Door, digestOf, sha256, type TransactionRecord } from './journal.ts';
import { lookUp } from './lookups.ts';
import type { JournalReads } from './store.ts';

export interface ChargeRequest {
  amount: number;
  externalRef: string | null;
  description: string | null;
  additionalInfo: string | null;
  customer: Customer | null;
  metadata: Metadata;
  /** Seconds; null: the account's, else the server's. */
  expiresIn: number | null;
}

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
export interface IncomingMessage {
  /** Null: the engine makes one up. */
  id: string | null;
  type: string;
  data: Record<string, unknown> | null;
}

/** A message as the bank sent it, to what is no transaction. */
export interface UnknownMessage {
  id: string;
  transactionId: string;
  type: string;
  data: unknown;
}

/** Characters of such a message that ops are shown. */
const LONGEST_WHAT = 4_000;

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

  constructor(options: PaymentsOptions) {
    this.#options = options;
  }

  /** @throws BankRefused: nothing is created. */
  async createCharge(account: Account, request: ChargeRequest, options: SendOptions): Promise<Answer> {
    const { bank, engine, newId, chargeExpiryS } = this.#options;
    const id = newId();
    const { amount, expiresIn, ...given } = request;
    const { qrcode, wakeInMs } = await bank.register({
      id,
      amount,
      pixKey: account.pixKey,
      merchantName: account.merchantName,
      merchantCity: account.merchantCity,
    });
    const totalFee = pixInFee(account.fees, amount);
    const fee = { netAmount: amount - totalFee, totalFee };
    const seconds = expiresIn ?? account.expiresIn ?? chargeExpiryS;
    const charge = { amount, fee, ...given, qrcode, expiresIn: seconds };
    return engine.send(account.id, { kind: 'createCharge', id, charge, wakeInMs }, options);
  }

  /**
   * The key comes before the balance, the balance before the bank; both are looked at again inside.
   * @throws BankRefused: nothing is created, nothing is debited.
   */
  async createTransfer(account: Account, request: TransferRequest, options: SendOptions): Promise<Answer> {
    const { bank, engine, newId } = this.#options;
    const { amount, idempotencyKey } = request;
    const totalFee = cashoutFee(account.fees, amount);
    const known = await this.#transferOf(account, idempotencyKey);
    if (known !== null) return { kind: 'duplicateKey', transaction: known };
    const available = await engine.provisionalBalance(account.id, amount + totalFee);
    if (available < amount + totalFee) {
      // A racer with the same key may have taken the money since the first look.
      const racer = await this.#transferOf(account, idempotencyKey);
      return racer === null
        ? { kind: 'insufficientBalance', available }
        : { kind: 'duplicateKey', transaction: racer };
    }
    await bank.check({ amount, pixKeyType: request.pixKeyType, pixKey: request.pixKey });
    const fee = { netAmount: amount - totalFee, totalFee };
    return engine.send(
      account.id,
      { kind: 'createTransfer', id: newId(), transfer: { ...request, fee } },
      options,
    );
  }

  /** The transfer that has the key already. */
  async #transferOf(account: Account, key: string | null): Promise<string | null> {
    if (key === null) return null;
    return lookUp(this.#options.journal, account.id, 'idempotencyKey', key);
  }

  /** A message to a transaction that nobody knows: money in it is a person's case. */
  async noteUnknown(message: UnknownMessage): Promise<void> {
    const { engine, now } = this.#options;
    const { id, transactionId, type, data } = message;
    const key = sha256(JSON.stringify([id, transactionId, digestOf(type, data)])).slice(0, 24);
    const what = `${type} (${id}) to ${transactionId}, which is no transaction: ${JSON.stringify(data)}`;
    await engine.note([
      {
        kind: 'unknown',
        id: `msg_${key}`,
        since: new Date(now()).toISOString(),
        what: what.slice(0, LONGEST_WHAT),
        next: 'ask the bank what it was about: money may be in it',
      },
    ]);
  }

  /** A message to a transaction that exists, through any door. */
  async message(
    record: TransactionRecord,
    incoming: IncomingMessage,
    door: Door,
    options: SendOptions = {},
    /** Set where the message can't even be read as one: it is only recorded. */
    problem: string | null = null,
  ): Promise<MessageAnswer> {
    const { bank, engine, newId, now } = this.#options;
    const { type } = incoming;
    const known = MESSAGE_TYPES[record.type];
    const given = incoming.data ?? {};
    const id = incoming.id ?? newId();
    const data =
      door !== 'bank' && bank.fillIn !== null
        ? bank.fillIn(record, { id, type, data: withoutNulls(given) }, now())
        : given;
    const details = known.includes(type)
      ? checkMessageData(record.type, type, data)
      : [{ field: 'type', message: `must be one of ${known.join(', ')}` }];
    // What the bank says is recorded even where it can't be taken; a merchant or ops are simply told.
    // An id that was applied is looked at before the data: with other content it is refused, whatever that is.
    const isRepeat = known.includes(type) && Object.hasOwn(record.messages, id);
    if (details.length > 0 && door !== 'bank' && !isRepeat) return { kind: 'malformed', details };
    const isSound = details.length === 0 && problem === null;
    const parts = isSound ? knownParts(record.type, type, data) : {};
    if (isSound && (type === 'PAY' || type === 'HOLD')) {
      parts.payer = mergePayer((record.snapshot.context as Charge).customer ?? null, data.payer);
    }
    const command: SentMessage = {
      kind: 'message',
      transaction: record.id,
      door,
      id,
      type,
      data: parts,
      kept: data,
      digest: digestOf(type, withoutNulls(given)),
    };
    if (problem !== null) command.invalid = problem;
    else if (details.length > 0 && !isRepeat)
      command.invalid = details.map(({ field, message }) => `${field} ${message}`).join('; ');
    return engine.send(record.account, command, options);
  }
}

function withoutNulls(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}
