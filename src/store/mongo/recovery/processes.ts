/**
 * Owns this process's heartbeat in `processes`, and what is known of the others': whose last batches may lack their
 * projections, and who is held up at an account.
 *
 * 1. A process says that it is there before it leaves a batch that another may have to finish.
 * 2. A process is silent that hasn't beaten for a while. To take it for silent by mistake costs a look, no more.
 */
import type { Document } from 'mongodb';
import { SET_MS } from '../../../engine/store/due.ts';
import type { Plain } from '../bson.ts';
import { MAJORITY, MAJORITY_READ, type MongoConnection } from '../connection.ts';

/** A process, while it lives and until what it left is finished. */
export interface ProcessDocument extends Plain {
  _id: string;
  beatAt: Date;
  /** Of the batches it appended, those up to this number are done with. */
  projected: number;
  /** Accounts at which others were first each time that it tried to write; absent: none. */
  heldUp?: string[];
  /** It ended, and knew what had become of all that it sent. */
  left?: true;
}

/** By so much more than is needed to be silent, whoever leaves says that it beat before: clocks are never quite the same. */
const LEFT_MS = 1_000;
/** A silent process stays listed for so long: who reads what comes of all processes hears of one that came and went. */
const LISTED_MS = 3_000;
/**
 * What a process had sent when it died may come to the database later: a network that was cut sends again what it has.
 * It is looked for so long, and so often.
 */
const LATE_MS = 15 * 60_000;
const LATE_LOOK_MS = 5_000;
/** Of each sort so many processes are looked after at a heartbeat: with more that are late a round takes several. */
const MOST_FOUND = 100;

export interface MongoProcessesOptions {
  connection: MongoConnection;
  incarnation: string;
  /** The database's clock, ms since 1970. */
  now(): number;
  /** A clock that nobody sets, ms. */
  elapsed(): number;
  silentAfterMs: number;
  /** Up to which of its batches this process is done with all. */
  projected(): number;
  /** Whether it is done with all of its batches. */
  isDone(): boolean;
  /** Accounts at which this process is held up. */
  heldUp(): string[];
  /** Others are held up at these accounts. */
  onHeldUp(accounts: string[]): void;
}

export class MongoProcesses {
  readonly #options: MongoProcessesOptions;
  #presenting: Promise<void> | null = null;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  /** When heartbeats were confirmed again, after so long a pause that others may not have beaten either. */
  #againAt = Number.NEGATIVE_INFINITY;
  /** The clock less the time that goes by, ms: it changes where somebody sets the clock. */
  #setAt: number | null = null;
  /** When the clock was seen to be another one. */
  #clockSetAt = Number.NEGATIVE_INFINITY;
  /** Those that were found silent since they were taken last, by their names. */
  readonly #silent = new Map<string, ProcessDocument>();
  /** When a round began of looks after those that have been silent for long; it goes on behind a name. */
  #lateRoundAt = Number.NEGATIVE_INFINITY;
  #lateBehind = '';

  constructor(options: MongoProcessesOptions) {
    this.#options = options;
  }

  /** Says that this process is there, and again where others may have forgotten it by now. */
  present(): Promise<void> {
    if (this.#unconfirmedMs <= this.#options.silentAfterMs) return Promise.resolve();
    this.#presenting ??= this.beat(this.#options.now()).finally(() => {
      this.#presenting = null;
    });
    return this.#presenting;
  }

  get #wasHeard(): boolean {
    return Number.isFinite(this.#confirmedAt);
  }

  get #unconfirmedMs(): number {
    return performance.now() - this.#confirmedAt;
  }

  async beat(now: number): Promise<void> {
    const { silentAfterMs, projected } = this.#options;
    const startedAt = performance.now();
    // An answer that comes late sets nothing back.
    await this.#write({ $max: { beatAt: new Date(now), projected: projected() }, ...this.#heldUp() }, true);
    if (this.#wasHeard && this.#unconfirmedMs > silentAfterMs) this.#againAt = performance.now();
    // Others reckon from the time that it was sent with.
    this.#confirmedAt = startedAt;
    await this.#lookAround(now);
  }

  /** Those that died just now are asked for apart from those that are late: none is behind the others. */
  async #lookAround(now: number): Promise<void> {
    const { incarnation, silentAfterMs, onHeldUp } = this.#options;
    const silentSince = new Date(now - silentAfterMs);
    const lateSince = new Date(now - silentAfterMs - LEFT_MS - LISTED_MS);
    const filter = {
      _id: { $ne: incarnation },
      beatAt: { $gt: lateSince },
      $or: [{ beatAt: { $lt: silentSince } }, { heldUp: { $exists: true } }],
    };
    const found = await this.#find(filter, { beatAt: -1 });
    const isSilent = ({ beatAt }: ProcessDocument): boolean => beatAt < silentSince;
    const silent = [...found.filter(isSilent), ...(await this.#late(lateSince))];
    for (const each of silent) this.#silent.set(each._id, each);
    onHeldUp(found.flatMap((each) => (isSilent(each) ? [] : (each.heldUp ?? []))));
  }

  /** The next of those that have been silent since a time; none while a round is over and another one isn't due. */
  async #late(since: Date): Promise<ProcessDocument[]> {
    if (this.#lateBehind === '') {
      if (performance.now() - this.#lateRoundAt < LATE_LOOK_MS) return [];
      this.#lateRoundAt = performance.now();
    }
    const _id = { $gt: this.#lateBehind, $ne: this.#options.incarnation };
    const found = await this.#find({ _id, beatAt: { $lte: since } }, { _id: 1 });
    this.#lateBehind = found.length < MOST_FOUND ? '' : (found.at(-1)?._id ?? '');
    return found;
  }

  async #find(filter: Document, sort: Document): Promise<ProcessDocument[]> {
    const listed = { filter, sort, limit: MOST_FOUND, singleBatch: true };
    const command = { find: 'processes', ...listed, ...MAJORITY_READ };
    return (await this.#options.connection.pulse(command)).cursor.firstBatch;
  }

  /** Whether it was silent for so long, and a little more. */
  #wasListed({ beatAt }: ProcessDocument, forMs: number): boolean {
    const { now, silentAfterMs } = this.#options;
    return beatAt.getTime() <= now() - silentAfterMs - LEFT_MS - forMs;
  }

  #heldUp(): Document {
    const heldUp = this.#options.heldUp();
    return heldUp.length === 0 ? { $unset: { heldUp: '' } } : { $set: { heldUp } };
  }

  /** Says before the next heartbeat at which accounts this process is held up; where that fails, the heartbeat does. */
  tell(): void {
    this.#write(this.#heldUp(), false).catch(() => {});
  }

  async #write(u: Document, upsert: boolean): Promise<void> {
    const { connection, incarnation } = this.#options;
    const updates = [{ q: { _id: incarnation }, u, upsert }];
    await connection.pulse({ update: 'processes', updates, writeConcern: MAJORITY });
  }

  /** Falls silent at once, so that others finish what is left without waiting. */
  async leave(): Promise<void> {
    if (!this.#wasHeard) return;
    const { now, silentAfterMs, projected, isDone } = this.#options;
    const beatAt = new Date(now() - silentAfterMs - LEFT_MS);
    const left = isDone() ? { left: true } : {};
    await this.#write({ $set: { beatAt, ...left }, $max: { projected: projected() } }, false);
  }

  /** The processes that were found silent at heartbeats since this was asked last. */
  takeSilent(): ProcessDocument[] {
    const silent = [...this.#silent.values()];
    this.#silent.clear();
    return silent;
  }

  /**
   * Forgets a process that left nothing, once it was listed for a while; one that came back meanwhile stays. False: it is
   * looked through again.
   */
  async forget(silent: ProcessDocument): Promise<boolean> {
    const { _id, beatAt, left } = silent;
    // Where it may be back at the same time as this one, it has yet to write what it couldn't meanwhile.
    if (!this.isSteady(LISTED_MS)) return false;
    if (!this.#wasListed(silent, left === true ? LISTED_MS : LATE_MS)) return false;
    const deletes = [{ q: { _id, beatAt }, limit: 1 }];
    await this.#options.connection.command({ delete: 'processes', deletes, writeConcern: MAJORITY });
    return true;
  }

  /**
   * Whether this process has been heard for a while, by one clock. Right after the database was away, its clock was set,
   * or this process was frozen, others may be about to renew what they couldn't renew meanwhile.
   */
  isSteady(forMs: number): boolean {
    const { connection, silentAfterMs } = this.#options;
    this.#followClock();
    const since = performance.now() - forMs;
    const isHeard = this.#unconfirmedMs <= silentAfterMs && this.#againAt <= since;
    return isHeard && this.#clockSetAt <= since && connection.backAt <= since;
  }

  #followClock(): void {
    const setAt = this.#options.now() - this.#options.elapsed();
    if (this.#setAt !== null && Math.abs(setAt - this.#setAt) > SET_MS) this.#clockSetAt = performance.now();
    this.#setAt = setAt;
  }

  /** Whether a majority confirmed a heartbeat so lately that it may be expected to confirm writes. */
  get isBeating(): boolean {
    return !this.#wasHeard || this.#unconfirmedMs < this.#options.silentAfterMs;
  }
}
