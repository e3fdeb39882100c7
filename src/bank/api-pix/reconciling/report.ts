/** `bank reconcile`: a span of the bank's list beside the journal, with all that differs. */
import { textOfTime } from '../../../domain/time.ts';
import type { JournalReads } from '../../../engine/store.ts';
import type { BankConnection } from '../connection.ts';
import type { Payment, Window } from '../payments.ts';
import type { Sending } from '../profile.ts';
import type { BankLists, Difference } from './bank-lists.ts';
import { bookedIn } from './journal-side.ts';
import { type UnseenCharge, unseenCharges } from './unseen.ts';
import { DAY_MS, RETURNS_MS } from './windows.ts';

/** How many, and cents. */
export interface Sum {
  count: number;
  amount: number;
}

/** What the bank lists, or what was booked; transfers only where the bank lists them. */
export interface Sums {
  payments: Sum;
  sendings: Sum;
  returns: Sum;
}

export interface Report extends Sums {
  ok: boolean;
  /** ISO 8601, UTC. */
  from: string;
  to: string;
  /** The same of the journal: what its leg `bank` moved. */
  journal: Sums;
  differences: Difference[];
  /** Charges that wait at the bank alone, which is harmless; null where the bank didn't list them. */
  unseen: UnseenCharge[] | null;
}

function nothing(): Sums {
  const none = (): Sum => ({ count: 0, amount: 0 });
  return { payments: none(), sendings: none(), returns: none() };
}

function add(sum: Sum, amount: number): void {
  sum.count += 1;
  sum.amount += amount;
}

/** What the bank lists of a span. */
class Listed {
  readonly sums = nothing();
  /** End-to-end ids. */
  readonly known = new Set<string>();
  readonly differences = new Map<string, Difference>();
  readonly #returns = new Set<string>();
  readonly #span: Window;

  constructor(span: Window) {
    this.#span = span;
  }

  #isWithin(time: string): boolean {
    const at = Date.parse(time);
    return at >= this.#span.from && at <= this.#span.to;
  }

  payment(payment: Payment): void {
    const { endToEndId, amount, paidAt, returns } = payment;
    if (this.#isWithin(paidAt) && !this.known.has(endToEndId)) {
      this.known.add(endToEndId);
      add(this.sums.payments, amount);
    }
    for (const { id, status, settledAt, amount: back } of returns)
      if (status === 'DEVOLVIDO') this.#returned(`${endToEndId} ${id}`, settledAt ?? paidAt, back);
  }

  /** The list is one of what was ordered in the span; the journal's side is what was settled in it. */
  sending({ endToEndId, amount, state, paidAt, returns }: Sending): void {
    if (endToEndId === null || state !== 'settled') return;
    const isNews = !this.known.has(endToEndId);
    this.known.add(endToEndId);
    if (paidAt !== null && !this.#isWithin(paidAt)) return;
    if (isNews) add(this.sums.sendings, amount ?? 0);
    for (const back of returns) this.#returned(`${endToEndId} ${back.id}`, null, back.amount);
  }

  /** A transfer that was ordered before the span. */
  earlier(sending: Sending): void {
    if (sending.paidAt !== null && this.#isWithin(sending.paidAt)) this.sending(sending);
  }

  /** Where the bank says no time, the list's own span counts. */
  #returned(key: string, time: string | null, amount: number): void {
    if (this.#returns.has(key) || (time !== null && !this.#isWithin(time))) return;
    this.#returns.add(key);
    add(this.sums.returns, amount);
  }

  differs(difference: Difference): void {
    const { kind, endToEndId, transactionId, what } = difference;
    this.differences.set(`${kind} ${endToEndId} ${transactionId} ${what}`, difference);
  }
}

/** The transfers of the day before a span, for those that were settled in it. @throws CallFailed */
function earlierSendings(lists: BankLists, listed: Listed, { from }: Window): Promise<void> {
  const watcher = {
    sending: (sending: Sending) => listed.earlier(sending),
    // What was settled before the span is none of it.
    difference: (difference: Difference) => {
      const { endToEndId } = difference;
      if (endToEndId !== null && listed.known.has(endToEndId)) listed.differs(difference);
    },
  };
  return lists.sendings({ from: Math.max(0, from - DAY_MS), to: from }, { watcher });
}

/** Reads what the bank lists of a span, and what the journal has of it. @throws CallFailed */
export async function reconcileSpan(
  lists: BankLists,
  connection: Pick<BankConnection, 'charges'>,
  journal: JournalReads,
  span: Window,
): Promise<Report> {
  const listed = new Listed(span);
  const watcher = {
    payment: (payment: Payment) => listed.payment(payment),
    sending: (sending: Sending) => listed.sending(sending),
    difference: (difference: Difference) => listed.differs(difference),
  };
  await lists.walk(span, watcher);
  await earlierSendings(lists, listed, span);
  await lists.returns({ from: Math.max(0, span.from - RETURNS_MS), to: span.to }, { watcher });
  const booked = nothing();
  const names = { payment: 'payments', sending: 'sendings', return: 'returns' } as const;
  for await (const each of bookedIn(journal, span)) {
    const { kind, endToEndId, transactionId, amount } = each;
    if (kind === 'sending' && !lists.listsSendings) continue;
    add(booked[names[kind]], amount);
    if (!lists.isMissing(each, listed.known)) continue;
    // One that was ordered longer ago, a person's approval ago for one, is asked about by itself.
    const sending = kind === 'sending' ? await lists.settled(transactionId) : null;
    if (sending !== null) {
      listed.earlier(sending);
      continue;
    }
    const what = `the journal has a ${kind === 'payment' ? 'payment' : 'transfer'} that the bank doesn't list`;
    listed.differs({ kind: 'missing', endToEndId, transactionId, amount, what });
  }
  const differences = [...listed.differences.values()];
  const [from, to] = [textOfTime(span.from), textOfTime(span.to)];
  const unseen = await unseenCharges(connection, journal, span);
  return { ok: differences.length === 0, from, to, ...listed.sums, journal: booked, differences, unseen };
}
