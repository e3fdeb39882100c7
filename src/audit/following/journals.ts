/**
 * Follows the journals of accounts, each by itself, where the store has no order over all of them: in rounds, each a look
 * at where all journals stand, and then at what is behind where each was read to. A batch is judged once, by the one
 * before it (I1, I2, I3).
 *
 * How far each was read lies in the store; what isn't put down yet is held, and is judged again where it gets lost. A
 * look sees a journal's beginning without its last batches, never the last ones without those before: one that is missing
 * between others is a fault at once. Last batches that were read and aren't there may be a look at a primary that is cut
 * off; they are a fault where they stay away.
 */
import type { BatchFault } from '../../domain/sentences/item-codes.ts';
import { type Batch, EMPTY_HEAD, headOf, ZERO_HASH } from '../../engine/journal.ts';
import { contentOf, sha256 } from '../../engine/store/content.ts';
import type { FollowedJournals, HeadInShort, Standing, StoredBatch } from '../../engine/store/journals.ts';
import { turn } from '../../waiting.ts';
import { faultOf } from '../compare.ts';
import { PageLength } from '../pages.ts';
import { type Before, type Fault, faultIn, UNREADABLE } from './judging.ts';

/** How far an account was read. Where what the next batch is judged by isn't held, it is read again. */
interface Known extends HeadInShort {
  last?: Before;
}

/** What is to be read of an account: what is behind where it was read to, up to a number. */
interface Task {
  account: string;
  known: Known;
  to: number;
}

interface Round {
  /** When it was begun, ms since 1970 by the store's clock. */
  at: number;
  /** The account behind which the look goes on; null once it saw all. */
  after: string | null;
  /** Else it reads what it saw. */
  isLooking: boolean;
  tasks: Task[];
  /** Batches that the look saw and that weren't read yet. */
  unread: number;
  /** Something that it saw didn't come when it was read: another round is needed. */
  isCut: boolean;
}

const NEVER: HeadInShort = { seq: 0, hash: ZERO_HASH };
/** With so many accounts to read a look goes on only once they were read. */
const MOST_TASKS = 20_000;
/** Accounts, and batches, that are read together. */
const TASKS_A_STEP = 50;
const BATCHES_A_STEP = 100;
/** Others have their turn after so many entries. */
const ENTRIES_A_TURN = 200;
/** Last batches that stay away for so long are gone: no primary that is cut off answers for so long. */
const GONE_MS = 60_000;
/** Accounts whose last batches are away. */
const MOST_AWAY = 1_000;

export class JournalsFollowing {
  /** Judged, and not put down yet. */
  readonly #heads = new Map<string, Known>();
  /** Since when an account's last batches are away, ms since 1970. */
  readonly #away = new Map<string, number>();
  readonly #length = new PageLength();
  #round: Round | null = null;
  #at: number | null;
  #lag = 0;
  #entries = 0;

  /** Goes on where a former one was; `at` as it was then. */
  constructor(at: number | null) {
    this.#at = at;
  }

  /** Up to then all accounts were read, ms since 1970; null before they were once. */
  get at(): number | null {
    return this.#at;
  }

  /** Batches that are still to be read, as far as the last look saw. */
  get lag(): number {
    return this.#lag;
  }

  /** Of how many accounts more was read than is put down. */
  get unkept(): number {
    return this.#heads.size;
  }

  /** All that the last look saw was read. */
  get isAtRest(): boolean {
    return this.#round === null;
  }

  /**
   * Goes one step on; gives what is off. A step may begin a round: `now` is the store's clock, ms since 1970. Where it
   * throws, it is done again.
   * @throws StoreUnavailable
   */
  async step(journals: FollowedJournals, now: number): Promise<Fault[]> {
    this.#round ??= { at: now, after: '', isLooking: true, tasks: [], unread: 0, isCut: false };
    const round = this.#round;
    round.isLooking &&= round.after !== null && round.tasks.length < MOST_TASKS;
    const faults = await (round.isLooking ? this.#look(journals, round) : this.#read(journals, round));
    if (round.isLooking) return faults;
    this.#lag = round.unread;
    if (round.tasks.length > 0) return faults;
    round.isLooking = round.after !== null;
    if (round.isLooking) return faults;
    if (!round.isCut) this.#at = round.at;
    this.#round = null;
    return faults;
  }

  /** Puts down how far all was read. @throws StoreUnavailable */
  async keep(journals: FollowedJournals): Promise<void> {
    if (this.#heads.size === 0) return;
    await journals.keep(this.#heads);
    this.#heads.clear();
  }

  async #look(journals: FollowedJournals, round: Round): Promise<Fault[]> {
    const { standings, next } = await journals.standings(round.after ?? '');
    const faults = standings.flatMap((standing) => this.#note(round, standing) ?? []);
    round.after = next;
    return faults;
  }

  #note(round: Round, { account, head, known: kept }: Standing): Fault | null {
    const known: Known = this.#heads.get(account) ?? kept ?? NEVER;
    const { seq, hash } = head ?? NEVER;
    if (seq < known.seq) return this.#noteAway(round, account, { seq, hash });
    this.#away.delete(account);
    if (seq > known.seq) {
      round.unread += seq - known.seq;
      round.tasks.push({ account, known, to: seq });
      return null;
    }
    if (hash === known.hash) return null;
    this.#heads.set(account, { seq, hash });
    return { kind: 'batch', account, seq, fault: 'changed' };
  }

  /** Where batches are gone that were read, what comes in their place is judged by what stands before it. */
  #noteAway(round: Round, account: string, { seq, hash }: HeadInShort): Fault | null {
    const since = this.#away.get(account) ?? round.at;
    if (round.at - since >= GONE_MS) {
      this.#away.delete(account);
      this.#heads.set(account, { seq, hash });
      return { kind: 'batch', account, seq: seq + 1, fault: 'gone' };
    }
    if (this.#away.size < MOST_AWAY) this.#away.set(account, since);
    return null;
  }

  /** Reads what is left of some accounts, or a part of what is left of one. */
  async #read(journals: FollowedJournals, round: Round): Promise<Fault[]> {
    const limit = Math.min(BATCHES_A_STEP, this.#length.batches);
    const tasks = firstOf(round.tasks, limit);
    if (tasks.length === 0) return [];
    const spans = tasks.map(({ account, known, to }) => ({ account, from: firstNumber(known), to }));
    const found = await journals.stored(spans, limit + tasks.length);
    this.#length.learn(found.flatMap(({ batch }) => batch ?? []));
    const faults: Fault[] = [];
    for (const task of tasks) {
      const own = found.filter(({ account }) => account === task.account);
      faults.push(...(await this.#judge(task, own)));
    }
    const left = tasks.flatMap((task) => this.#left(round, task) ?? []);
    round.tasks.splice(0, tasks.length, ...left);
    return faults;
  }

  /** What is left of a task. Where nothing came, another look is needed. */
  #left(round: Round, { account, known, to }: Task): Task | null {
    const now = this.#heads.get(account) ?? known;
    round.unread -= now.seq - known.seq;
    if (now.seq >= to) return null;
    if (now.seq > known.seq) return { account, known: now, to };
    round.unread -= to - now.seq;
    round.isCut = true;
    return null;
  }

  /** Judges what was found of an account, in the order of its numbers; gives what is off. */
  async #judge({ account, known }: Task, found: readonly StoredBatch[]): Promise<Fault[]> {
    const faults: Fault[] = [];
    const tell = (seq: number, fault: BatchFault): void => {
      faults.push({ kind: 'batch', account, seq, fault });
    };
    let last = lastOf(known, found);
    const again = found.find(({ seq }) => seq === known.seq);
    if (again !== undefined && again.hash !== known.hash) tell(again.seq, 'changed');
    let { seq } = known;
    for (const stored of found) {
      if (stored.seq <= known.seq) continue;
      const { fault, head } = judged(stored.seq === seq + 1 ? last : null, stored);
      if (fault !== null) tell(stored.seq, fault);
      last = head;
      seq = stored.seq;
      this.#heads.set(account, { seq, hash: stored.hash, last });
      await this.#takeTurns(stored.batch);
    }
    return faults;
  }

  async #takeTurns(batch: Batch | null): Promise<void> {
    this.#entries += batch?.entries?.length ?? 1;
    if (this.#entries < ENTRIES_A_TURN) return;
    this.#entries = 0;
    await turn();
  }
}

/** The number of the first batch that is read. */
function firstNumber({ seq, last }: Known): number {
  return last === undefined && seq > 0 ? seq : seq + 1;
}

/** Whole tasks that have together at most so many batches; the first one, whatever it has. */
function firstOf(tasks: readonly Task[], most: number): Task[] {
  let batches = 0;
  const count = tasks.findIndex(({ known, to }, index) => {
    batches += to - known.seq;
    return index > 0 && (index >= TASKS_A_STEP || batches > most);
  });
  return tasks.slice(0, count < 0 ? tasks.length : count);
}

/** What the first batch of a task is judged by. */
function lastOf(known: Known, found: readonly StoredBatch[]): Before {
  if (known.seq === 0) return EMPTY_HEAD;
  if (known.last !== undefined) return known.last;
  const again = found.find(({ seq }) => seq === known.seq);
  if (again === undefined) return null;
  return again.batch === null ? UNREADABLE : headOf(again.batch);
}

/** What is wrong with a batch, where anything is, and what the next one is judged by. */
function judged(before: Before, { batch }: StoredBatch): { fault: BatchFault | null; head: Before } {
  if (batch === null) return { fault: 'content', head: UNREADABLE };
  try {
    const isAsHashed = sha256(contentOf(batch)) === batch.hash;
    return { fault: faultIn(before, { batch, isAsHashed, isFound: true }), head: headOf(batch) };
  } catch (error) {
    faultOf(error);
    return { fault: 'content', head: UNREADABLE };
  }
}
