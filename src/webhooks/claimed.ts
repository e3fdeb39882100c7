/** What claimed deliveries are about, read from the journal, and where they stand. */
import { deliveriesOf, type NamedDelivery } from '../engine/history.ts';
import type { DeliveryRecord } from '../engine/store/deliveries.ts';
import type { ClaimOf } from '../engine/store/due.ts';
import type { JournalReads } from '../engine/store.ts';
import type { SpareTime } from '../spare-time.ts';
import { newDelivery } from './delivery.ts';

export interface Claimed {
  claim: ClaimOf<'delivery'>;
  /** Undefined: the journal names no such delivery. */
  delivery: NamedDelivery | undefined;
  record: DeliveryRecord;
}

export interface ClaimSources {
  journal: JournalReads;
  /** Nobody waits for what was claimed: it comes from a backlog. */
  spareTime: Pick<SpareTime, 'take'>;
  /** Transactions whose history is read at the same time; 4 where nothing is said. */
  readTogether?: number;
  /** Something went wrong; what it was about is found again. */
  onTrouble(error: unknown): void;
}

const READ_TOGETHER = 4;

function byTransaction(claims: readonly ClaimOf<'delivery'>[]): [string, ClaimOf<'delivery'>[]][] {
  const all = new Map<string, ClaimOf<'delivery'>[]>();
  for (const claim of claims) {
    const own = all.get(claim.due.transaction);
    if (own === undefined) all.set(claim.due.transaction, [claim]);
    else own.push(claim);
  }
  return [...all];
}

/** Reads what claims are about, in spare time. */
export class ClaimReader {
  readonly #sources: ClaimSources;
  #isClosed = false;

  constructor(sources: ClaimSources) {
    this.#sources = sources;
  }

  /** Gives each claim to `found`, or to `failed` where it could not be read. Never rejects. */
  async read(
    claims: readonly ClaimOf<'delivery'>[],
    found: (claimed: Claimed) => void,
    failed: (claim: ClaimOf<'delivery'>) => void,
  ): Promise<void> {
    const { journal, spareTime, readTogether = READ_TOGETHER, onTrouble } = this.#sources;
    const readOne = async ([transaction, own]: [string, ClaimOf<'delivery'>[]]): Promise<void> => {
      if (this.#isClosed) return;
      try {
        for (const each of await read(journal, transaction, own)) found(each);
      } catch (error) {
        onTrouble(error);
        for (const claim of own) failed(claim);
      }
    };
    const all = byTransaction(claims);
    while (all.length > 0 && !this.#isClosed) {
      const some = all.splice(0, readTogether);
      await spareTime.take(() => Promise.all(some.map(readOne)));
    }
  }

  /** What isn't read yet is left to whoever claims it next. */
  close(): void {
    this.#isClosed = true;
  }
}

/** Whether a delivery was attempted, or never will be. */
export async function hasBegun(
  journal: JournalReads,
  transaction: string,
  delivery: string,
): Promise<boolean> {
  const records = await journal.deliveries(transaction);
  const record = records.find(({ id }) => id === delivery);
  return record !== undefined && (record.attempts.length > 0 || record.status === 'dead');
}

async function read(
  journal: JournalReads,
  transaction: string,
  claims: readonly ClaimOf<'delivery'>[],
): Promise<Claimed[]> {
  const found = await look(journal, transaction, claims);
  const [first] = claims;
  if (first === undefined || found.every(({ delivery }) => delivery !== undefined)) return found;
  // A delivery is there before its transaction's record names it: its batch's writer is at it still, or has died. Who
  // reads the head finishes what is left.
  await journal.head(first.due.account);
  return look(journal, transaction, claims);
}

async function look(
  journal: JournalReads,
  transaction: string,
  claims: readonly ClaimOf<'delivery'>[],
): Promise<Claimed[]> {
  const record = await journal.transaction(transaction);
  const named = record === null ? [] : await deliveriesOf(journal, record);
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
