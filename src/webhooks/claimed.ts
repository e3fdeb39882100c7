/** What claimed deliveries are about, read from the journal, and where they stand. */
import { deliveriesOf, type NamedDelivery, takenBy } from '../engine/history.ts';
import type { DeliveryRecord } from '../engine/store/deliveries.ts';
import type { ClaimOf } from '../engine/store/due.ts';
import type { JournalReads } from '../engine/store.ts';
import { newDelivery } from './delivery.ts';

export interface Claimed {
  claim: ClaimOf<'delivery'>;
  /** Undefined: the journal names no such delivery. */
  delivery: NamedDelivery | undefined;
  record: DeliveryRecord;
}

interface Sources {
  journal: JournalReads;
  /** Something could not be read. */
  onTrouble(error: unknown): void;
}

/** Transactions whose history is read at the same time. */
const READ_TOGETHER = 16;

/** Gives each claim to `found`, or to `failed` where it could not be read. Never rejects. */
export async function readClaimed(
  sources: Sources,
  claims: readonly ClaimOf<'delivery'>[],
  found: (claimed: Claimed) => void,
  failed: (claim: ClaimOf<'delivery'>) => void,
): Promise<void> {
  const byTransaction = new Map<string, ClaimOf<'delivery'>[]>();
  for (const claim of claims) {
    const own = byTransaction.get(claim.due.transaction);
    if (own === undefined) byTransaction.set(claim.due.transaction, [claim]);
    else own.push(claim);
  }
  const readOne = async ([transaction, own]: [string, ClaimOf<'delivery'>[]]): Promise<void> => {
    try {
      for (const each of await read(sources.journal, transaction, own)) found(each);
    } catch (error) {
      sources.onTrouble(error);
      for (const claim of own) failed(claim);
    }
  };
  const all = [...byTransaction];
  while (all.length > 0) {
    // Others get their turn: what was claimed may be a backlog.
    await new Promise(setImmediate);
    // A few at a time: a store behind a network answers them together.
    await Promise.all(all.splice(0, READ_TOGETHER).map(readOne));
  }
}

async function read(
  journal: JournalReads,
  transaction: string,
  claims: readonly ClaimOf<'delivery'>[],
): Promise<Claimed[]> {
  const record = await journal.transaction(transaction);
  const named = record === null ? [] : deliveriesOf(await takenBy(journal, record));
  const progress = await journal.deliveries(transaction);
  return claims.map((claim) => {
    const { delivery: id, account } = claim.due;
    const known = progress.find((each) => each.id === id);
    return {
      claim,
      delivery: named.find((each) => each.id === id),
      record: known ?? newDelivery(id, account, transaction),
    };
  });
}
