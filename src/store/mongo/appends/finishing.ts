/**
 * The projection of batches that are committed and may lack it: their writer is at it still, died before, or met an
 * error. Any process may write it, any number of times.
 */
import { jittered, pause } from '../../../waiting.ts';
import type { MongoConnection } from '../connection.ts';
import { batchFromDocument, type JournalDocument, transactionsIn } from '../documents.ts';
import { projectionOf, writeProjections } from '../projection.ts';
import type { MongoReads } from '../reads.ts';
import { missingOf } from '../recovery/missing.ts';

/** A batch, with as much of it as is known. */
export interface Unfinished {
  account: string;
  seq: number;
  /** The transactions that its entries are of. */
  transactions: readonly string[];
  document?: JournalDocument;
}

/** How often a process looks whether a batch's own writer projects it, before it does so itself. */
const LOOKS = 4;
const LOOK_PAUSE_MS = 3;

export class Finishing {
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;
  readonly #now: () => number;

  /** `now`: the database's clock, ms since 1970. */
  constructor(connection: MongoConnection, reads: MongoReads, now: () => number) {
    this.#connection = connection;
    this.#reads = reads;
    this.#now = now;
  }

  /** Sees to it that a batch is projected; one that isn't there needs nothing. @throws as `project` */
  async finish(account: string, seq: number): Promise<void> {
    const document = await this.#reads.batchDocument(account, seq);
    if (document === null) return;
    await this.finishKnown({ account, seq, transactions: transactionsIn(document), document });
  }

  /** Sees to it that a batch is projected: by its writer, who may be at it, else here. @throws as `project` */
  async finishKnown(batch: Unfinished): Promise<void> {
    const { seq, transactions } = batch;
    for (let look = 0; transactions.length > 0 && look < LOOKS; look++) {
      if (look > 0) await pause(jittered(LOOK_PAUSE_MS));
      if (await this.#reads.isProjected(transactions, seq)) return;
    }
    await this.project(batch);
  }

  /**
   * Writes what a batch lacks of its projection.
   * @throws Error where it can't be projected; StoreUnavailable where the database can't be asked
   */
  async project({ account, seq, transactions, document: known }: Unfinished): Promise<void> {
    const document = known ?? (await this.#reads.batchDocument(account, seq));
    if (document === null) return;
    const batch = batchFromDocument(document);
    await this.#connection.surely(async () => {
      const found = await this.#reads.transactionDocuments(transactions);
      const missing = missingOf(batch, new Map(found.map((each) => [each._id, each])), this.#now());
      const append = document.imported ? { ...missing, due: [], attention: [] } : missing;
      await writeProjections(this.#connection, [
        projectionOf({ document: document._id, append, leaseEnd: 0, made: null }),
      ]);
    });
  }
}
