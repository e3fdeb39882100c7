/**
 * Owns the way of batches into `journal`, and what this process knows of each account's last one.
 *
 * 1. The insert of a batch's document, confirmed by a majority, is the commit; {account, seq} is unique.
 * 2. A batch is answered once its projection is there, so that any process reads what was answered.
 * 3. Before a number is appended, the one before it is projected: only an account's last batch can lack its
 *    projection, and a reader of the head writes it.
 * 4. The batches that wait together travel together, each with its own outcome; a group is bounded.
 */

import { ZERO_BALANCES } from '../../domain/money.ts';
import { type Batch, type Head, ZERO_HASH } from '../../engine/journal.ts';
import { type Append, type AppendResult, type Claim, StoreUnavailable } from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import { onceATurn, pause } from '../../waiting.ts';
import { jittered, type MongoConnection } from './connection.ts';
import { SharedAccounts } from './contention.ts';
import {
  batchFromDocument,
  documentId,
  headFromDocument,
  type JournalDocument,
  journalDocument,
  onceEach,
  transactionsIn,
} from './documents.ts';
import { placeOfClaim, stillStanding } from './due-documents.ts';
import { StoreClosed } from './errors.ts';
import { Groups } from './gathering.ts';
import { isImported, missingOf, type Projection, projectionOf, writeProjections } from './projection.ts';
import type { BatchInShort, MongoReads } from './reads.ts';
import { insertAll } from './writes.ts';

export interface AppendsParts {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  /** Takes note of claims that are written with a batch. */
  hold(claims: readonly Claim[]): void;
}

interface Waiting {
  append: Append;
  /** The `_id` of its document. */
  document: string;
  number: number;
  resolve(result: AppendResult): void;
  reject(error: Error): void;
}

const LARGEST_BATCH = 4 * 1024 * 1024;
/** Characters of content in a group; one command takes them, however many bytes a character has. */
const GROUP_CONTENT = 3 * 1024 * 1024;
const GROUP_BATCHES = 1_024;
/** Groups whose projections are being written while the next one is inserted. */
const PROJECTING_GROUPS = 3;
const MAX_KNOWN = 50_000;
/** How often a process looks whether a batch's own writer projects it, before it does so itself. */
const LOOKS = 4;
const LOOK_PAUSE_MS = 3;
const MAJORITY_LOOKS = 10;

export class Appends {
  readonly #parts: AppendsParts;
  /** The last batch of an account that is known to be projected. */
  readonly #known = new Map<string, number>();
  readonly #shared = new SharedAccounts();
  readonly #groups = new Groups(() => this.#send());
  #waiting: Waiting[] = [];
  /** Numbers that are not projected yet. */
  readonly #underWay = new Set<number>();
  #numbers = 0;
  #isInserting = false;
  #projecting = 0;
  readonly #schedule = onceATurn(() => this.#send());
  #closed = false;

  constructor(parts: AppendsParts) {
    this.#parts = parts;
  }

  /** All batches of this process up to this number are projected. */
  get projected(): number {
    return this.#underWay.size === 0 ? this.#numbers : Math.min(...this.#underWay) - 1;
  }

  /** Up to which batch an account is known to be projected. */
  known(account: string): number | null {
    return this.#known.get(account) ?? null;
  }

  async head(account: string): Promise<Head> {
    const last = await this.#parts.reads.lastBatch(account);
    this.#shared.seen(account);
    if (last === null) return { seq: 0, at: '', balances: { ...ZERO_BALANCES }, hash: ZERO_HASH };
    if (this.#known.get(account) !== last.seq) {
      await this.#finish(account, last.seq, onceEach(last.transactions));
      this.#know(account, last.seq);
    }
    return headFromDocument(last);
  }

  async append(append: Append): Promise<AppendResult> {
    const { batch, content } = append;
    if (Buffer.byteLength(content) > LARGEST_BATCH) throw new Error('a batch of more than 4 MiB');
    await this.#shared.yield(batch.account);
    const isKnown = this.#known.get(batch.account) === batch.seq - 1;
    // What others write to as well is looked at first: to be refused costs more than to ask.
    if (!isKnown || this.#shared.isDoubtful(batch.account)) {
      const outcome = await this.#standing(batch, isKnown);
      if (outcome !== null) return outcome;
    }
    if (this.#closed) throw new StoreClosed();
    return new Promise((resolve, reject) => {
      this.#numbers += 1;
      const number = this.#numbers;
      this.#underWay.add(number);
      const document = documentId(this.#parts.incarnation, number);
      this.#waiting.push({ append, document, number, resolve, reject });
      this.#schedule();
    });
  }

  #know(account: string, seq: number): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(account, seq);
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
    await this.finish(account, seq - 1);
    return null;
  }

  async #outcomeOfTaken(batch: Batch, stored: BatchInShort): Promise<AppendResult> {
    if (stored.id !== batch.id || stored.hash !== batch.hash) {
      this.#known.delete(batch.account);
      this.#shared.late(batch.account);
      return { outcome: 'stale' };
    }
    await this.finish(batch.account, batch.seq);
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
      this.#shared.lasted(performance.now() - startedAt);
      this.#projecting -= 1;
    });
    this.#groups.follow(group.length, committed);
  }

  #nextGroup(): Waiting[] {
    let content = 0;
    let count = 0;
    for (const { append } of this.#waiting) {
      content += append.content.length;
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
      for (const { reject } of group) reject(asError(error));
    }
  }

  /** Somebody else has the number, or had it from us before: the stored document tells. */
  async #answerTaken({ append, number, resolve }: Waiting): Promise<void> {
    const { connection, reads } = this.#parts;
    const { account, seq } = append.batch;
    for (let look = 0; look < MAJORITY_LOOKS; look++) {
      const stored = await connection.surely(() => reads.batchInShort(account, seq));
      if (stored !== null) {
        const result = await connection.surely(() => this.#outcomeOfTaken(append.batch, stored));
        resolve(result);
        this.#underWay.delete(number);
        return;
      }
      // The majority doesn't have yet what took the number.
      await pause(jittered(LOOK_PAUSE_MS * 2 ** look));
    }
    throw new StoreUnavailable('another batch has the number, and no majority has that one');
  }

  async #insert(group: readonly Waiting[]): Promise<{ committed: Waiting[]; taken: Waiting[] }> {
    const { connection, reads } = this.#parts;
    const documents = group.map(({ document, append }) => {
      const made = journalDocument(document, append.batch, append.content);
      if (isImported(append)) made.imported = true;
      return made;
    });
    const refused = new Set((await insertAll(connection, 'journal', documents)).map(({ _id }) => _id));
    if (refused.size === 0) return { committed: [...group], taken: [] };
    // A document of that very name is our own insert, whose answer was lost on the way.
    const own = await connection.surely(() => reads.existing('journal', [...refused]));
    const isOurs = ({ document }: Waiting): boolean => !refused.has(document) || own.has(document);
    return { committed: group.filter(isOurs), taken: group.filter((waiting) => !isOurs(waiting)) };
  }

  async #project(committed: readonly Waiting[]): Promise<void> {
    if (committed.length === 0) return;
    const { connection, incarnation, hold } = this.#parts;
    const projections = committed.map(({ document, append }) =>
      projectionOf({ document, append, incarnation }),
    );
    const taken = await writeProjections(connection, projections);
    const lost = taken.size === 0 ? null : await this.#lostClaims(projections, taken);
    committed.forEach(({ append, number, resolve }, index) => {
      // The number of a batch that fails here stays: the processes after this one look at that batch again.
      this.#underWay.delete(number);
      const { account, seq } = append.batch;
      const claims = (projections[index]?.claims ?? []).filter((claim) => lost?.has(claim) !== true);
      hold(claims);
      this.#know(account, seq);
      this.#shared.won(account);
      resolve({ outcome: 'appended', claims });
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

  /** Sees to it that a batch is projected: by its writer, who may be at it, else here. */
  async finish(account: string, seq: number): Promise<void> {
    const document = await this.#parts.reads.batchDocument(account, seq);
    if (document !== null) await this.#finish(account, seq, transactionsIn(document), document);
  }

  /** Finishes the batches that a process appended after the one with this number. */
  async finishAfter(incarnation: string, projected: number): Promise<void> {
    const range = { $gt: documentId(incarnation, projected), $lt: `${incarnation}.` };
    const options = { projection: { account: 1, seq: 1 } };
    const batches = await this.#parts.reads.find<JournalDocument>('journal', { _id: range }, options);
    for (const { account, seq } of batches) await this.finish(account, seq);
  }

  async #finish(account: string, seq: number, ids: string[], known?: JournalDocument): Promise<void> {
    const { reads } = this.#parts;
    for (let look = 0; ids.length > 0 && look < LOOKS; look++) {
      if (look > 0) await pause(jittered(LOOK_PAUSE_MS));
      if (await reads.isProjected(ids, seq)) return;
    }
    const document = known ?? (await reads.batchDocument(account, seq));
    if (document === null) return;
    const batch = batchFromDocument(document);
    await this.#parts.connection.surely(async () => {
      const stored = new Map((await reads.transactionDocuments(ids)).map((found) => [found._id, found]));
      const missing = missingOf(batch, stored);
      const append = document.imported ? { ...missing, due: [], attention: [] } : missing;
      const { incarnation } = this.#parts;
      await writeProjections(this.#parts.connection, [
        projectionOf({ document: document._id, append, incarnation }),
      ]);
    });
  }

  /** Takes nothing more; what has not been sent fails. */
  close(): void {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(new StoreClosed());
  }
}
