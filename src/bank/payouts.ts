/**
 * Payouts: ordered once, and asked about until their end.
 *
 * 1. The first order goes out only after the journal says so, with the contract that it goes by.
 * 2. After an unknown outcome the bank is asked. Where it surely doesn't know the order, the same goes out again under
 *    the same id and contract, if that can't pay twice; else a person decides (`stuck`).
 * 3. A refusal of an order that the bank may have had before, or from others meanwhile, counts once a later question
 *    finds nothing.
 * 4. The bank has the last word: one that ops have ended is asked about all the same, since its order may have been on
 *    its way, and never sent. That it was paid, though its money was given back, is an alarm then.
 */
import { type Bank, BankNotBegun, BankRefused, type PayoutContract } from '../engine/bank.ts';
import { DONE, type Outcome } from '../engine/claims/hands.ts';
import type { Engine } from '../engine/engine.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { ClaimOf, DueOrder } from '../engine/store/due.ts';
import type { JournalReads } from '../engine/store.ts';
import type { Refusals } from './refusals.ts';
import type { Told } from './telling.ts';

type PayoutDue = DueOrder<'payout'>;

export interface PayoutsOptions {
  engine: Engine;
  journal: JournalReads;
  bank: Bank;
  now(): number;
  told: Told;
  /** Whether a claim is ours still, as of a moment ago. */
  isOurs(claim: ClaimOf<'bank'>, askedAt: number): Promise<boolean>;
  /** Whether an order may be sent still: it is pending, and the desk isn't at its end. */
  mayBegin(due: PayoutDue): Promise<boolean>;
  elapsed(): number;
  refusals: Refusals;
  /** The same order once more, when a refusal of now has stood. */
  refused(due: PayoutDue): Outcome;
  /** The same order once more, later; `changes` to what is known of it. */
  later(due: PayoutDue, changes?: Partial<PayoutDue['order']>, waitMs?: number): Outcome;
}

function isSame(one: PayoutContract, other: PayoutContract): boolean {
  return one.profile === other.profile && one.clientId === other.clientId && one.pixKey === other.pixKey;
}

/** Messages by which the bank ends a transfer. */
const ENDS = ['SETTLE', 'FAIL', 'REJECT', 'CANCEL'];

/** Whether the bank itself has ended it: ops' messages have ids of their own. */
function isBanksEnd({ id, final, messages }: TransactionRecord): boolean {
  return final && ENDS.some((type) => Object.hasOwn(messages, `env:${id}:${type}`));
}

/** Whether a message says of one that ops have ended what they said: it was paid, or it wasn't. */
function isSaid({ final, snapshot }: TransactionRecord, type: string): boolean {
  return final && ENDS.includes(type) && (type === 'SETTLE') === (snapshot.value === 'completed');
}

/** The bank knows the order: what it refused before was something else. */
function withoutRefusal(due: PayoutDue): PayoutDue {
  const { refusedAt: _refusedAt, ...order } = due.order;
  return { ...due, order };
}

export class Payouts {
  readonly #options: PayoutsOptions;

  constructor(options: PayoutsOptions) {
    this.#options = options;
  }

  /** A payout's turn with a bank that must not get an order twice. */
  async turn(claim: ClaimOf<'bank'>, due: PayoutDue, record: TransactionRecord): Promise<Outcome> {
    const { bank, journal, elapsed, now } = this.#options;
    const askedAt = elapsed();
    if (!record.submitted && !record.final) {
      const contract = await bank.contract(record);
      const first = await this.#maySubmit(claim, record, contract, askedAt);
      if (first === 'park') return 'park';
      if (first === 'ours') return this.#submit(claim, due, record, contract, true);
    }
    const current = (await journal.transaction(record.id)) ?? record;
    if (!current.submitted || isBanksEnd(current)) return DONE;
    const { bankId } = due.order;
    // Where the bank can't be asked, the same order once more is the question, and its answer alone counts.
    if (!bank.canAskAbout(current, bankId)) return current.final ? DONE : this.#again(claim, due, current);
    const messages = await bank.query(current, now(), bankId);
    return messages === null
      ? this.#unknownThere(claim, due, current)
      : this.#heard(withoutRefusal(due), current, messages);
  }

  /** The bank surely doesn't know the order. */
  async #unknownThere(claim: ClaimOf<'bank'>, due: PayoutDue, record: TransactionRecord): Promise<Outcome> {
    const { later, refused, refusals } = this.#options;
    // One that has ended isn't sent again; but the bank may show what was on its way only a moment later.
    if (due.order.refusedAt === undefined)
      return record.final ? refused(due) : this.#again(claim, due, record);
    const leftMs = refusals.leftMs(due);
    if (leftMs > 0) return later(due, {}, leftMs);
    return record.final ? DONE : this.#reject(due, record, 'the bank refuses the transfer');
  }

  /** The same order once more, where that can't pay twice; else a person decides. */
  async #again(claim: ClaimOf<'bank'>, due: PayoutDue, record: TransactionRecord): Promise<Outcome> {
    const { bank, later, isOurs, elapsed } = this.#options;
    if (!bank.canRepeatUnknown) return later(due);
    const begunWith = await this.#begunWith(record);
    if (!isSame(await bank.contract(record), begunWith)) return later(due);
    if (!(await isOurs(claim, elapsed()))) return later(due);
    return this.#submit(claim, due, record, begunWith, false);
  }

  /** The contract that the entry keeps which began the sending. */
  async #begunWith({ account, id, seqs }: TransactionRecord): Promise<PayoutContract> {
    const entries = await this.#options.journal.entries(account, id, seqs);
    const begun = entries.find(({ entry }) => entry.message.type === 'SUBMIT');
    return (begun?.entry.message.data ?? {}) as PayoutContract;
  }

  /**
   * Whether this is the first submit: only one caller is told so, and only while the cashout is pending. Who was frozen
   * since it asked is too late: others have taken it for dead, and a person may have settled the cashout.
   */
  async #maySubmit(
    claim: ClaimOf<'bank'>,
    record: TransactionRecord,
    contract: PayoutContract,
    askedAt: number,
  ): Promise<'ours' | 'not ours' | 'park'> {
    const command = { kind: 'submit', transaction: record.id, contract } as const;
    const answer = await this.#options.engine.send(record.account, command);
    if (answer.kind === 'quarantined') return 'park';
    const isOurs = answer.kind === 'applied' && (await this.#options.isOurs(claim, askedAt));
    return isOurs ? 'ours' : 'not ours';
  }

  async #submit(
    claim: ClaimOf<'bank'>,
    due: PayoutDue,
    record: TransactionRecord,
    contract: PayoutContract,
    isFirst: boolean,
  ): Promise<Outcome> {
    const { bank, later, refused, isOurs, elapsed } = this.#options;
    const mayBegin = (): Promise<boolean> => this.#options.mayBegin(due);
    try {
      const { messages = [], bankId = null } = await bank.submit(record, contract, mayBegin);
      return await this.#heard(due, record, messages, bankId === null ? {} : { bankId });
    } catch (error) {
      if (error instanceof BankNotBegun) return later(due);
      // What became of it is unknown, or nothing did: the desk sees to a further turn.
      if (!(error instanceof BankRefused)) throw error;
      // Who has taken it over meanwhile may have sent it: what was refused may be a second order.
      if (isFirst && (await isOurs(claim, elapsed()))) return this.#reject(due, record, error.message);
      // Without a later question nobody knows what the order before became.
      if (!bank.canAskAbout(record, due.order.bankId)) return later(due);
      return refused(due);
    }
  }

  #reject(due: PayoutDue, record: TransactionRecord, reason: string): Promise<Outcome> {
    return this.#heard(due, record, [{ id: `env:${record.id}:REJECT`, type: 'REJECT', data: { reason } }]);
  }

  /** Books what the bank says; until the bank has ended the transfer it is asked again. */
  async #heard(
    due: PayoutDue,
    record: TransactionRecord,
    messages: Parameters<Told>[1],
    changes: Partial<PayoutDue['order']> = {},
  ): Promise<Outcome> {
    const { told, journal, later } = this.#options;
    const news = messages.filter(({ type }) => !isSaid(record, type));
    if ((await told(record, news)) === 'park') return 'park';
    const after = await journal.transaction(record.id);
    // Of one that ops have ended the bank's end isn't taken: whoever was told of it needs no further question.
    const isOver = after?.final === true && messages.some(({ type }) => ENDS.includes(type));
    return after === null || isOver || isBanksEnd(after) ? DONE : later(due, changes);
  }
}
