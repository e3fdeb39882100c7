/**
 * What merchants, or ops in their stead, order of a charge that exists: to refund it, and to cancel it. Refunds are judged
 * before the bank is looked at, and once more inside the mailbox, where racers meet.
 */
import type { Account } from '../../domain/account.ts';
import type { By } from '../../domain/messages.ts';
import { refundsOf } from '../../domain/reversals/sums.ts';
import { textOfTime } from '../../domain/time.ts';
import { Abandoned } from '../actors/host.ts';
import { type Bank, type BankMessage, BankRefused } from '../bank.ts';
import { UnreadableSnapshot } from '../chart.ts';
import type { Answer } from '../commands.ts';
import { presentOf } from '../decision.ts';
import type { Engine, SendOptions } from '../engine.ts';
import type { ChargeRecord, TransactionRecord } from '../journal.ts';
import { lookUp } from '../lookups.ts';
import { digestOf } from '../store/content.ts';
import type { JournalReads } from '../store.ts';
import { cancelProblem, refundProblem } from './decide.ts';

/** Who of ops orders something, and under which id it is done once: of a refund, a UUID that names it. */
export interface OpsOrder {
  id: string;
  by: By;
}

export interface RefundRequest {
  /** A charge of the account's. */
  transaction: string;
  /** Cents; null: what remains. */
  amount: number | null;
  reason: string | null;
  idempotencyKey: string | null;
  /** Absent where the merchant orders it. */
  ops?: OpsOrder;
}

export interface CancelRequest {
  /** A charge of the account's. */
  transaction: string;
  reason: string | null;
  /** Absent where the merchant orders it. `record` writes down who asks, before the bank is asked. */
  ops?: OpsOrder & { record(): Promise<unknown> };
}

/** `refundId`: of the refund that was made, or has the key. */
export type RefundAnswer = { answer: Answer; refundId: string };

export interface ChargeOrdersOptions {
  engine: Engine;
  journal: JournalReads;
  bank: Bank;
  /** Books what the bank says. */
  tell(record: ChargeRecord, message: BankMessage, options: SendOptions): Promise<unknown>;
  /** Cancels by a message of ops. */
  cancelAsOps(record: ChargeRecord, order: OpsOrder, options: SendOptions): Promise<Answer>;
  now(): number;
  newId(): string;
}

export class ChargeOrders {
  readonly #options: ChargeOrdersOptions;

  constructor(options: ChargeOrdersOptions) {
    this.#options = options;
  }

  /** @throws BankRefused: the bank is known to be unreachable, and nothing is debited. */
  async refund(account: Account, request: RefundRequest, options: SendOptions): Promise<RefundAnswer> {
    const { bank, engine, newId } = this.#options;
    const { ops, ...order } = request;
    const { transaction, amount, idempotencyKey } = order;
    const refundId = ops?.id ?? newId();
    const record = await this.#charge(account, transaction);
    if (record === null) return { answer: { kind: 'unknown' }, refundId };
    const by = ops === undefined ? {} : { ops: { by: ops.by, digest: digestOf('REFUND_ORDER', { amount }) } };
    const command = { kind: 'refund', refundId, ...order, ...by } as const;
    // Inside, ops are told that their id was used: what it did may be why it couldn't be done now.
    if (ops !== undefined && Object.hasOwn(record.messages, refundId))
      return { answer: await engine.send(account.id, command, options), refundId };
    const known = await this.#withKey(account, idempotencyKey);
    if (known !== null) return this.#duplicate(known, idempotencyKey);
    const problem = await this.#problem(account, record, request);
    if (problem !== null) {
      // A racer with the same key may have taken what remained since the first look.
      const racer = await this.#withKey(account, idempotencyKey);
      return racer === null ? { answer: problem, refundId } : this.#duplicate(racer, idempotencyKey);
    }
    if (!bank.reachable()) throw new BankRefused('the bank can not be reached');
    const answer = await engine.send(account.id, command, options);
    return answer.kind === 'duplicateKey'
      ? this.#duplicate(answer.transaction, idempotencyKey)
      : { answer, refundId };
  }

  /**
   * Cancels a charge that waits; the bank is asked first, and what it says instead is booked before the answer. Once it
   * is asked nothing drops the command any more: whoever has left, the bank may have taken the charge off its list.
   * @throws BankRefused: nothing is changed, or nobody knows
   */
  async cancel(account: Account, request: CancelRequest, options: SendOptions): Promise<Answer> {
    const { bank, engine, tell, cancelAsOps } = this.#options;
    const { ops, ...order } = request;
    const { abandoned, ...unheard } = options;
    const send = (how: SendOptions): Promise<Answer> =>
      engine.send(account.id, { kind: 'cancel', ...order }, how);
    const stored = await this.#charge(account, request.transaction);
    if (stored === null) return { kind: 'unknown' };
    if (ops !== undefined && Object.hasOwn(stored.messages, ops.id)) return cancelAsOps(stored, ops, options);
    const record = readable(stored);
    // Inside, ops are told of a snapshot that can't be read.
    if (record === null) return send(options);
    const done = cancelProblem(record);
    if (done !== null) return done;
    if (!bank.reachable()) throw new BankRefused('the bank can not be reached');
    await ops?.record();
    if (abandoned?.() === true) throw new Abandoned();
    for (const message of await bank.cancel(stored)) await tell(stored, message, unheard);
    if (ops === undefined) return send(unheard);
    // A message that isn't taken has an entry: what the bank has just told is looked at before.
    const after = (await this.#charge(account, stored.id)) ?? stored;
    return cancelProblem(after) ?? cancelAsOps(after, ops, unheard);
  }

  async #charge(account: Account, id: string): Promise<ChargeRecord | null> {
    const record = await this.#options.journal.transaction(id);
    return record?.account === account.id && record.type === 'pix-in' ? record : null;
  }

  async #withKey(account: Account, key: string | null): Promise<string | null> {
    return key === null ? null : lookUp(this.#options.journal, account.id, 'refundKey', key);
  }

  /** A provisional look; inside it is looked at again. */
  async #problem(account: Account, record: ChargeRecord, { amount }: RefundRequest): Promise<Answer | null> {
    const { engine, now } = this.#options;
    const available = await engine.provisionalBalance(account.id, record.snapshot.context.amount);
    const present = readable(record);
    if (present === null) return null;
    return refundProblem(present, { amount }, textOfTime(now()), available);
  }

  async #duplicate(transaction: string, key: string | null): Promise<RefundAnswer> {
    const record: TransactionRecord | null = await this.#options.journal.transaction(transaction);
    const found = record?.type === 'pix-in' ? refundWithKey(record, key) : null;
    if (found === null) throw new Error(`the charge ${transaction} has no refund with the key`);
    return { answer: { kind: 'duplicateKey', transaction }, refundId: found };
  }
}

/** The charge as the present charts see it; null where they can't read it. */
function readable(record: ChargeRecord): ChargeRecord | null {
  try {
    const present = presentOf(record);
    return present.type === 'pix-in' ? present : null;
  } catch (error) {
    if (error instanceof UnreadableSnapshot) return null;
    throw error;
  }
}

function refundWithKey({ snapshot }: ChargeRecord, key: string | null): string | null {
  return refundsOf(snapshot.context).find(({ refund }) => refund.idempotencyKey === key)?.id ?? null;
}
