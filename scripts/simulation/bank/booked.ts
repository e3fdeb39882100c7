/** What an account's journal says of the bank's money, read entry by entry. */
import type { Batch, Entry } from '../../../src/engine/journal.ts';

/** Something that the journal says, and when it was decided, by the world's time. */
export interface Saying {
  entry: Entry;
  at: number;
}

/** A transaction as far as the bank has to do with it. */
export interface Booked {
  id: string;
  kind: 'pix-in' | 'cashout';
  status: string;
  amount: number;
  /** Cents that came in at the bank; negative: that went out. */
  atBank: number;
  /** When its sending was begun; null: never. */
  submittedAt: number | null;
  /** Refunds by their ids: when each was ordered, and how much. */
  refunds: Map<string, { at: number; amount: number }>;
  /** When each payment's return was ordered, by its end-to-end id. */
  givenBack: Map<string, number>;
  /** What the bank said, and was taken. */
  told: Saying[];
}

function atBank({ postings }: Entry): number {
  return -postings.filter(({ leg }) => leg === 'bank').reduce((sum, { amount }) => sum + amount, 0);
}

function take(booked: Booked, { entry, at }: Saying): void {
  const { message, orders, refusal, to } = entry;
  booked.status = to ?? booked.status;
  booked.atBank += atBank(entry);
  for (const order of orders)
    if (order.kind === 'return' && !booked.givenBack.has(order.endToEndId))
      booked.givenBack.set(order.endToEndId, at);
  if (refusal !== null) return;
  if (message.type === 'SUBMIT') booked.submittedAt ??= at;
  if (message.type === 'REFUND_ORDER') {
    const { refundId, amount } = message.data as { refundId: string; amount: number };
    booked.refunds.set(refundId, { at, amount });
  }
  if (message.door === 'bank') booked.told.push({ entry, at });
}

/** By the transactions' ids. `decidedAt`: when a batch was decided. */
export function bookedIn(journal: Iterable<Batch>, decidedAt: (batch: Batch) => number): Map<string, Booked> {
  const all = new Map<string, Booked>();
  for (const batch of journal) {
    const at = decidedAt(batch);
    for (const entry of batch.entries) {
      const { transaction: id, type, snapshot } = entry;
      if (id === null || type === null) continue;
      const { amount } = (snapshot?.context ?? {}) as { amount: number };
      const fresh = { id, kind: type, status: '', amount, atBank: 0, submittedAt: null } as const;
      const booked: Booked = all.get(id) ?? {
        ...fresh,
        ...{ refunds: new Map(), givenBack: new Map(), told: [] },
      };
      all.set(id, booked);
      take(booked, { entry, at });
    }
  }
  return all;
}
