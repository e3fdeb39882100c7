/**
 * Owns this process's heartbeat in `processes`, and what is known of the others': their heartbeats, and what they
 * hold of what is due.
 *
 * 1. A process says that it is there before it leaves anything that could be taken over.
 * 2. A process is silent that hasn't beaten for a while; but right after the database was away all were silent, and
 *    none is taken to be.
 */
import type { Document } from 'mongodb';
import { MAJORITY, type MongoConnection } from './connection.ts';
import type { Held, Plain } from './documents.ts';
import { PARKED } from './due-documents.ts';
import type { MongoReads } from './reads.ts';

/** A process, while it lives and until what it left is taken over. */
export interface ProcessDocument extends Plain {
  _id: string;
  beatAt: Date;
  /** Of the batches it appended, those up to this number are projected. */
  projected: number;
}

/** More batches than a process ever appends. */
const ALL = 9_999_999_999;

export interface MongoProcessesOptions {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  /** The clock that leases go by, ms since 1970. */
  now(): number;
  silentAfterMs: number;
  /** Up to which of its batches this process has projected all. */
  projected(): number;
}

export class MongoProcesses {
  readonly #options: MongoProcessesOptions;
  #registered: Promise<void> | null = null;
  #beatAt: number | null = null;
  #confirmedAt: number | null = null;
  #silences = 0;
  #silent: ProcessDocument[] = [];
  #awayAt = Number.NEGATIVE_INFINITY;

  constructor(options: MongoProcessesOptions) {
    this.#options = options;
  }

  /** Says that this process is there. */
  register(): Promise<void> {
    this.#registered ??= this.beat(this.#options.now()).catch((error: unknown) => {
      this.#registered = null;
      throw error;
    });
    return this.#registered;
  }

  /** Says it again before claiming, where others may have forgotten this process since. */
  async present(): Promise<void> {
    await this.register();
    const { now, silentAfterMs } = this.#options;
    if (this.#beatAt !== null && now() - this.#beatAt > silentAfterMs / 2) await this.beat(now());
  }

  /** Takes note of processes that are not known, as silent ones. */
  async rememberAll(incarnations: readonly string[]): Promise<void> {
    if (incarnations.length === 0) return;
    // It was forgotten because none of its batches was left to be looked at.
    const $setOnInsert = { beatAt: new Date(0), projected: ALL };
    const updates = incarnations.map((_id) => ({ q: { _id }, u: { $setOnInsert }, upsert: true }));
    await this.#options.connection.command({ update: 'processes', updates, writeConcern: MAJORITY });
  }

  async beat(now: number): Promise<void> {
    const { connection, silentAfterMs, reads } = this.#options;
    if (connection.away !== null) this.#awayAt = performance.now();
    await this.#write(now, true);
    if (this.#beatAt !== null && now - this.#beatAt > silentAfterMs) this.#silences += 1;
    this.#beatAt = now;
    this.#confirmedAt = performance.now();
    this.#silent = this.#silentAmong(await reads.find<ProcessDocument>('processes', {}), now);
  }

  async #write(beatAt: number, upsert: boolean): Promise<Document> {
    const { connection, incarnation, projected } = this.#options;
    const $set = { beatAt: new Date(beatAt), projected: projected() };
    const updates = [{ q: { _id: incarnation }, u: { $set }, upsert }];
    return connection.command({ update: 'processes', updates, writeConcern: MAJORITY });
  }

  /** Falls silent at once, so that others take over without waiting. */
  async leave(): Promise<void> {
    if (this.#beatAt !== null) await this.#write(0, false);
  }

  /** Forgets a process that left nothing; one that came back meanwhile beats again. */
  async forget({ _id, beatAt }: ProcessDocument): Promise<void> {
    const deletes = [{ q: { _id, beatAt }, limit: 1 }];
    await this.#options.connection.command({ delete: 'processes', deletes, writeConcern: MAJORITY });
  }

  /** The processes that were silent at the last beat. */
  get silentAtBeat(): readonly ProcessDocument[] {
    return this.#silent;
  }

  /** The processes that are silent now; asked anew only where one was at the last beat. */
  async silentNow(): Promise<string[]> {
    if (this.#silent.length === 0) return [];
    const processes = await this.#options.reads.find<ProcessDocument>('processes', {});
    return this.#silentAmong(processes, this.#options.now()).map(({ _id }) => _id);
  }

  #silentAmong(processes: readonly ProcessDocument[], now: number): ProcessDocument[] {
    const { incarnation, silentAfterMs } = this.#options;
    if (performance.now() - this.#awayAt < silentAfterMs) return [];
    return processes.filter(
      ({ _id, beatAt }) => _id !== incarnation && beatAt.getTime() < now - silentAfterMs,
    );
  }

  /** How often this process was silent for so long that others may have taken over; now is one such time. */
  get silences(): number {
    const { now, silentAfterMs } = this.#options;
    const isSilent = this.#beatAt === null || now() - this.#beatAt > silentAfterMs;
    return isSilent ? this.#silences + 1 : this.#silences;
  }

  /** Whether a majority confirmed a heartbeat so lately that it may be expected to confirm writes. */
  get isBeating(): boolean {
    return this.#confirmedAt === null || performance.now() - this.#confirmedAt < this.#options.silentAfterMs;
  }
}

/** Collections in which things are due, and the arrays that hold them there. */
const WITH_DUE = [
  ['transactions', 'timers.'],
  ['transactions', 'orders.'],
  ['deliveries', ''],
] as const;

/** A document in which things are due, as far as it tells whose they are. */
type Owned = Held & { timers?: Held[]; orders?: Held[] };

/** The first owner behind another one, in the order of their names, in a document. */
function nextOwner({ timers = [], orders = [], owner }: Owned, last: string): string | null {
  const all = [owner, ...[...timers, ...orders].map((held) => held.owner)].flatMap((each) => each ?? []);
  return all.filter((each) => each > last).sort()[0] ?? null;
}

/** All processes that hold anything: the indexes are walked from owner to owner. */
export async function ownersOf(reads: MongoReads): Promise<string[]> {
  const owners = new Set<string>();
  for (const [collection, array] of WITH_DUE) {
    for (let last = ''; ; ) {
      const filter = { [`${array}due`]: { $exists: true }, [`${array}owner`]: { $gt: last } };
      const projection = { [`${array}owner`]: 1 };
      const [found] = await reads.find<Owned>(collection, filter, { limit: 1, projection });
      const next = found === undefined ? null : nextOwner(found, last);
      if (next === null) break;
      owners.add(next);
      last = next;
    }
  }
  owners.delete(PARKED);
  return [...owners];
}

/** Whether anything still belongs to a process. */
export async function hasClaims(reads: MongoReads, owner: string): Promise<boolean> {
  for (const [collection, array] of WITH_DUE) {
    const filter = { [`${array}due`]: { $exists: true }, [`${array}owner`]: owner };
    const found = await reads.find(collection, filter, { limit: 1, projection: { _id: 1 } });
    if (found.length > 0) return true;
  }
  return false;
}
