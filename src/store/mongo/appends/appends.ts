/**
 * Owns the way of batches into `journal`, and what this process knows of each account's last one.
 *
 * 1. The insert of a batch's document, confirmed by a majority, is the commit; {account, seq} is unique.
 * 2. A batch is answered once its projection is there, so that any process reads what was answered.
 * 3. Before a number is appended, the one before it is projected: only an account's last batch can lack its
 *    projection, and a reader of the head writes it.
 * 4. The batches that wait together travel together, each with its own outcome; a group is bounded.
 */

import { type Batch, EMPTY_HEAD, type Head, type TransactionRecord } from '../../../engine/journal.ts';
import type { Claim } from '../../../engine/store/due.ts';
import { type Append, type AppendResult, StoreUnavailable } from '../../../engine/store.ts';
import { asError } from '../../../errors.ts';
import { Lately } from '../../../passing.ts';
import { jittered, onceATurn, pause } from '../../../waiting.ts';
import type { MongoConnection } from '../connection.ts';
import {
  checkSize,
  headFromDocument,
  type JournalDocument,
  journalDocument,
  mostBytesOfBatch,
} from '../documents.ts';
import { placeOfClaim, stillStanding } from '../due/documents.ts';
import type { Leases } from '../due/leases.ts';
import { StoreClosed } from '../errors.ts';
import { Groups } from '../gathering.ts';
import { type Projection, projectionOf, writeProjections } from '../projection.ts';
import type { BatchInShort, MongoReads } from '../reads.ts';
import { insertAll } from '../writes/writes.ts';
import { SharedAccounts } from './contention.ts';
import type { Finishing } from './finishing.ts';
import { documentId, Numbers } from './numbers.ts';
import { OwnRecords } from './own-records.ts';

export interface AppendsParts {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  finishing: Finishing;
  leases: Leases;
  /** There is one more account at which this process is held up: the others should hear of it. */
  onHeldUp(): void;
  /** Says that this process is there, where others may have forgotten it: they finish what it leaves. */
  present(): Promise<void>;
}

interface Waiting {
  append: Append;
  /** The bytes of its content. */
  bytes: number;
  /** The `_id` of its document. */
  document: string;
  /** What is inserted; null until it is made. */
  made: JournalDocument | null;
  number: number;
  resolve(result: AppendResult): void;
  reject(error: Error): void;
}

/** Bytes of content in a group. */
const GROUP_CONTENT = 4 * 1024 * 1024;
const GROUP_BATCHES = 1_024;
/** Groups whose projections are being written while the next one is inserted. */
const PROJECTING_GROUPS = 3;
const KNOWN = 50_000;
/** How often, and how soon again, a number that is taken is looked for among what the majority has. */
const MAJORITY_LOOKS = 10;
const LOOK_PAUSE_MS = 3;

export class Appends {
  readonly numbers = new Numbers();
  readonly shared: SharedAccounts;
  readonly #parts: AppendsParts;
  /** The last batch of an account that is known to be projected. */
  readonly #known = new Lately<number>(KNOWN);
  readonly #own = new OwnRecords();
  readonly #groups = new Groups(() => this.#send());
  #waiting: Waiting[] = [];
  #isInserting = false;
  #projecting = 0;
  readonly #schedule = onceATurn(() => this.#send());
  #closed = false;

  constructor(parts: AppendsParts) {
    this.#parts = parts;
    this.shared = new SharedAccounts(parts.onHeldUp);
  }

  /** Up to which batch an account is known to be projected. */
  known(account: string): number | null {
    return this.#known.get(account) ?? null;
  }

  /** A record as the account's batch `last` left it, where that one and all since the record's were this process's. */
  record(account: string, last: number, transaction: string): TransactionRecord | null {
    return this.#own.find(account, last, transaction);
  }

  async head(account: string): Promise<Head> {
    const last = await this.#parts.reads.lastBatch(account);
    this.shared.seen(account);
    if (last === null) return EMPTY_HEAD;
    if (this.#known.get(account) !== last.seq) {
      await this.#parts.finishing.finishKnown({ account, seq: last.seq, transactions: last.transactions });
      this.#known.set(account, last.seq);
    }
    return headFromDocument(last);
  }

  async append(append: Append): Promise<AppendResult> {
    const { batch, content } = append;
    const bytes = Buffer.byteLength(content);
    checkSize(batch, content, bytes);
    await this.shared.yield(batch.account);
    const isKnown = this.#known.get(batch.account) === batch.seq - 1;
    // What others write to as well is looked at first: to be refused costs more than to ask.
    if (!isKnown || this.shared.isDoubtful(batch.account)) {
      const outcome = await this.#standing(batch, isKnown);
      if (outcome !== null) return outcome;
    }
    if (this.#closed) throw new StoreClosed();
    return new Promise((resolve, reject) => {
      const number = this.numbers.next();
      const document = documentId(this.#parts.incarnation, number);
      this.#waiting.push({ append, bytes, document, made: null, number, resolve, reject });
      this.#schedule();
    });
  }

  /** The outcome that is certain before anything is sent, or null where the number is free. */
  async #standing(batch: Batch, isKnown: boolean): Promise<AppendResult | null> {
    const { account, seq } = batch;
    const { reads } = this.#parts;
    const [same, before] = await Promise.all([
      reads.batchInShort(account, seq),
      isKnown || seq === 1 ? null : reads.batchInShort(account, seq - 1),
    ]);
    if (same !== null) return this.#outcomeOfTaken(batch, same);
    if (isKnown || seq === 1) return null;
    if (before === null) return { outcome: 'stale' };
    await this.#parts.finishing.finish(account, seq - 1);
    return null;
  }

  async #outcomeOfTaken(batch: Batch, stored: BatchInShort): Promise<AppendResult> {
    if (stored.id !== batch.id || stored.hash !== batch.hash) {
      this.#known.delete(batch.account);
      this.shared.late(batch.account);
      return { outcome: 'stale' };
    }
    await this.#parts.finishing.finish(batch.account, batch.seq);
    return { outcome: 'appended', claims: [] };
  }

  #send(): void {
    if (this.#isInserting || this.#projecting >= PROJECTING_GROUPS) return;
    if (!this.#groups.admits(this.#waiting.length)) return;
    const group = this.#nextGroup();
    this.#isInserting = true;
    this.#projecting += 1;
    const startedAt = performance.now();
    const committed = this.#commit(group).finally(() => {
      this.shared.lasted(performance.now() - startedAt);
      this.#projecting -= 1;
    });
    this.#groups.follow(group.length, committed);
  }

  #nextGroup(): Waiting[] {
    let content = 0;
    let count = 0;
    for (const { bytes } of this.#waiting) {
      content += bytes;
      if (count > 0 && (content > GROUP_CONTENT || count >= GROUP_BATCHES)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const { committed, taken } = await this.#insert(group).finally(() => {
        this.#isInserting = false;
        this.#schedule();
      });
      await this.#project(committed);
      await Promise.all(taken.map((waiting) => this.#answerTaken(waiting)));
    } catch (error) {
      for (const waiting of group) this.#fail(waiting, asError(error));
    }
  }

  /** What became of the batch is found out later; a batch that was answered already is not concerned. */
  #fail({ number, reject }: Waiting, error: Error): void {
    this.numbers.leave(number);
    reject(error);
  }

  /** Somebody else has the number, or had it from us before: the stored document tells. */
  async #answerTaken(waiting: Waiting): Promise<void> {
    const { connection, reads } = this.#parts;
    const { batch } = waiting.append;
    try {
      for (let look = 0; look < MAJORITY_LOOKS; look++) {
        const stored = await connection.surely(() => reads.batchInShort(batch.account, batch.seq));
        if (stored !== null) {
          const result = await connection.surely(() => this.#outcomeOfTaken(batch, stored));
          this.numbers.done(waiting.number);
          return waiting.resolve(result);
        }
        // The majority doesn't have yet what took the number.
        await pause(jittered(LOOK_PAUSE_MS * 2 ** look));
      }
      throw new StoreUnavailable('another batch has the number, and no majority has that one');
    } catch (error) {
      this.#fail(waiting, asError(error));
    }
  }

  async #insert(group: readonly Waiting[]): Promise<{ committed: Waiting[]; taken: Waiting[] }> {
    const { connection, reads, present } = this.#parts;
    const waiting = new Map(group.map((each) => [each.document, each]));
    const documents = group.map((each) => {
      const { document, append } = each;
      const made = journalDocument(document, append.batch, append.content);
      each.made = made;
      if (append.imported === true) made.imported = true;
      return made;
    });
    const bytesOf = ({ _id }: JournalDocument): number => mostBytesOfBatch(waiting.get(_id)?.bytes ?? 0);
    const { taken, refused } = await insertAll(connection, 'journal', documents, bytesOf, present);
    for (const [{ _id }, reason] of refused) {
      const each = waiting.get(_id);
      waiting.delete(_id);
      if (each !== undefined) this.#fail(each, reason);
    }
    if (taken.length === 0) return { committed: [...waiting.values()], taken: [] };
    const doubtful = new Set(taken.map(({ _id }) => _id));
    // Our own insert, whose answer was lost on the way. Its name alone tells nothing: `asInserted` says why.
    const own = await connection.surely(() => reads.asInserted(taken));
    const isOurs = ({ document }: Waiting): boolean => !doubtful.has(document) || own.has(document);
    const all = [...waiting.values()];
    return { committed: all.filter(isOurs), taken: all.filter((each) => !isOurs(each)) };
  }

  /** Projects what is committed; where that fails for a group, each batch alone: the others are not concerned. */
  async #project(committed: readonly Waiting[]): Promise<void> {
    const [first, ...others] = committed;
    if (first === undefined) return;
    try {
      await this.#projectTogether(committed);
    } catch (error) {
      if (others.length === 0) this.#fail(first, asError(error));
      else for (const waiting of committed) await this.#project([waiting]);
    }
  }

  async #projectTogether(committed: readonly Waiting[]): Promise<void> {
    const { connection, leases } = this.#parts;
    const leaseEnd = leases.nextEnd();
    const projections = committed.map(({ document, append, made }) =>
      projectionOf({ document, append, leaseEnd, made }),
    );
    const taken = await writeProjections(connection, projections);
    const lost = taken.size === 0 ? null : await this.#lostClaims(projections, taken);
    committed.forEach(({ append, number, resolve }, index) => {
      this.numbers.done(number);
      const { account, seq } = append.batch;
      const claims = (projections[index]?.claims ?? []).filter((claim) => lost?.has(claim) !== true);
      leases.hold(claims, leaseEnd);
      // Where another process projected the batch, it knew of no ends.
      const ended = (projections[index]?.ended ?? []).filter(({ due }) => !taken.has(due.transaction));
      leases.letGo(ended);
      this.#known.set(account, seq);
      this.#own.appended(account, seq, append.records);
      this.shared.won(account);
      resolve(ended.length > 0 ? { outcome: 'appended', claims, ended } : { outcome: 'appended', claims });
    });
  }

  /** Claims on what another process projected first: they were not written. */
  async #lostClaims(projections: readonly Projection[], taken: ReadonlySet<string>): Promise<Set<Claim>> {
    const doubtful = projections
      .flatMap(({ claims }) => claims)
      .filter((claim) => taken.has(placeOfClaim(claim).document));
    const held = await this.#parts.connection.surely(() => stillStanding(this.#parts.reads, doubtful));
    return new Set(doubtful.filter((_, index) => held[index] !== true));
  }

  /** Takes nothing more; what has not been sent fails. */
  close(): void {
    this.#closed = true;
    for (const waiting of this.#waiting.splice(0)) {
      this.numbers.done(waiting.number);
      waiting.reject(new StoreClosed());
    }
  }
}
