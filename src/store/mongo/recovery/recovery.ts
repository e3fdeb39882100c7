/**
 * Finishes committed batches whose projection nobody is at any more: those of processes that fell silent, and those
 * at which this process itself failed.
 *
 * 1. Each batch is caught by itself. One that can't be projected is noted for ops, and stops no other.
 * 2. A batch that was noted is tried again now and then; its item goes once it is projected.
 * 3. What fails since the database is away is done again at a later heartbeat.
 */
import { itemFor } from '../../../engine/attention/item.ts';
import { type AttentionItem, StoreUnavailable } from '../../../engine/store.ts';
import { textOf } from '../../../errors.ts';
import { Lately } from '../../../passing.ts';
import type { Finishing } from '../appends/finishing.ts';
import { documentId, type Numbers, numberOf } from '../appends/numbers.ts';
import { notedAs, withdrawAll } from '../attention.ts';
import { toIso } from '../bson.ts';
import type { MongoConnection } from '../connection.ts';
import type { MongoReads, UnfinishedBatch } from '../reads.ts';
import type { MongoProcesses, ProcessDocument } from './processes.ts';

export interface RecoveryParts {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  processes: MongoProcesses;
  finishing: Finishing;
  numbers: Numbers;
  /** A batch can't be projected: stores, logs and counts it. */
  onUnprojectable(item: AttentionItem): Promise<void>;
}

/** Batches that are read together. */
const PAGE = 500;
/** Batches that are projected at a time, and processes that are looked after at a time. */
const BATCHES = 16;
const PROCESSES = 4;
/** Of so many processes it is known what was finished of them. */
const MOST_SILENT = 1_000;

/** Works on all items, so many at a time. @throws the first error, once the work that began has ended */
async function together<Item>(
  width: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(width, items.length) }, lane));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** The item for ops about a batch that can't be projected. */
function unprojectable({ account, seq, at }: UnfinishedBatch, reason: unknown): AttentionItem {
  const data = { seq, reason: textOf(reason) };
  const given = { id: `${account}#${seq}`, since: toIso(at), about: { account }, data };
  return itemFor('BATCH_UNPROJECTABLE', given);
}

export class Recovery {
  readonly #parts: RecoveryParts;
  /** Batches that were finished, by their silent process, which is looked through again for what comes late. */
  readonly #finished = new Lately<Set<string>>(MOST_SILENT);
  #running: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Begins to finish what is left, unless it is under way. @throws what the last run failed at */
  begin(): void {
    const failure = this.#failure;
    this.#failure = null;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    if (failure !== null) throw failure;
  }

  async #run(): Promise<void> {
    const runs = await Promise.allSettled([
      this.#finishOwn(),
      together(PROCESSES, this.#parts.processes.takeSilent(), (silent) => this.#finishOf(silent)),
    ]);
    for (const run of runs)
      if (run.status === 'rejected' && !(run.reason instanceof StoreUnavailable)) this.#failure = run.reason;
  }

  /** What became of numbers at which this process failed. */
  async #finishOwn(): Promise<void> {
    const { incarnation, numbers, reads } = this.#parts;
    const left = numbers.left(PAGE);
    if (left.length === 0) return;
    const ids = left.map((number) => documentId(incarnation, number));
    const batches = await reads.unfinished({ _id: { $in: ids } }, PAGE);
    const committed = new Set(batches.map(({ _id }) => _id));
    left.forEach((number, index) => {
      if (!committed.has(ids[index] ?? '')) numbers.done(number);
    });
    await together(BATCHES, batches, async (batch) => {
      await this.#finish(batch);
      numbers.done(numberOf(batch._id));
    });
  }

  /**
   * Each look begins behind what the process said that it was done with: below any number that is there by now others
   * may come yet, since its inserts went ahead beside each other.
   */
  async #finishOf(silent: ProcessDocument): Promise<void> {
    const { processes, reads } = this.#parts;
    const finished = this.#finished.get(silent._id) ?? new Set<string>();
    this.#finished.set(silent._id, finished);
    for (let behind = documentId(silent._id, silent.projected); ; ) {
      const page = await reads.batchIds(behind, `${silent._id}.`, PAGE);
      const left = page.filter((id) => !finished.has(id));
      const batches = left.length === 0 ? [] : await reads.unfinished({ _id: { $in: left } }, PAGE);
      await together(BATCHES, batches, async (batch) => {
        await this.#finish(batch);
        finished.add(batch._id);
      });
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      behind = last;
    }
    if (await processes.forget(silent)) this.#finished.delete(silent._id);
  }

  /** Projects a batch, or notes it. @throws StoreUnavailable where neither is done */
  async #finish(batch: UnfinishedBatch): Promise<void> {
    try {
      await this.#project(batch);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      await this.#parts.onUnprojectable(unprojectable(batch, error));
    }
  }

  async #project(batch: UnfinishedBatch): Promise<void> {
    const { finishing, reads } = this.#parts;
    const { seq, transactions } = batch;
    // Its writer is at it no more. A batch of no transaction doesn't show whether it was projected.
    if (transactions.length > 0 && (await reads.isProjected(transactions, seq))) return;
    await finishing.project(batch);
  }

  /** Tries the batches again that were noted, and takes those off the list that are projected by now. */
  async lookAgain(): Promise<void> {
    const { connection, reads } = this.#parts;
    const noted = await notedAs(reads, 'projection', PAGE);
    const done: string[] = [];
    await together(BATCHES, noted, async (id) => {
      const [account = '', seq = ''] = id.split('#');
      const [batch] = await reads.unfinished({ account, seq: Number(seq) }, 1);
      try {
        if (batch !== undefined) await this.#project(batch);
        done.push(id);
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        // It is on the list already, with its reason.
      }
    });
    await withdrawAll(
      connection,
      done.map((id) => ({ kind: 'projection', id })),
    );
  }
}
