/**
 * Takes over a folder of a former build, once: its journals and what it was told besides become a log. The former file
 * goes when the log is on the disk and its heads were compared; until then a kill leaves the folder as it was.
 */
import { mkdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { type Batch, ZERO_HASH } from '../../../engine/journal.ts';
import { follows } from '../../../engine/store/content.ts';
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import type { Due } from '../../../engine/store/due.ts';
import type { AttentionKey } from '../../../engine/store.ts';
import { OperatorError } from '../../../errors.ts';
import { turn } from '../../../waiting.ts';
import { flushToDisk } from '../../environments/lmdb.ts';
import { formerIn, formerSize, hasLog, logIn } from '../files.ts';
import { parseBatch } from '../log/batch-value.ts';
import { FORMAT, Log } from '../log/log.ts';
import { type Fact, factsRow, parseRow } from '../log/rows.ts';
import type { Noted } from '../projections/projections.ts';
import { expectNoFormerHolder } from './holder.ts';
import { type FormerDueRow, type FormerTables, openFormer } from './tables.ts';

export interface TakeoverOptions {
  folder: string;
  /** Ms since 1970. */
  now: number;
  /** Hears now and then how many batches were taken over. */
  onProgress(batches: number): void;
}

/** Rows that are written together. */
const GROUP = 2_000;
/** Facts in a row. */
const FACTS = 100;
/** Rows that are read before others have their turn. */
const ROWS_A_TURN = 1_000;
/** The log and the projections, of what the former file takes. */
const SPACE = 2;

/** The last batch of each account. */
type Heads = Map<string, { seq: number; hash: string }>;

function expectSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const needed = bytes * SPACE;
  if (bavail * bsize >= needed) return;
  const mb = (count: number): number => Math.ceil(count / 1_048_576);
  throw new OperatorError(
    `the store in ${folder} is a former build's, and to bring it up to date takes ${mb(needed)} MB: ${mb(bavail * bsize)} MB are free`,
  );
}

/**
 * Removes the former file, which the log was made of.
 * @throws OperatorError where the log was not made of it: nobody knows then which of the two counts
 */
async function endFormer(folder: string): Promise<void> {
  const log = new Log(logIn(folder));
  const wasMadeOfIt = log.state()?.madeOfFormer === true;
  await log.close();
  if (!wasMadeOfIt)
    throw new OperatorError(
      `there are two stores in ${folder}, and one of them is a former build's (pixstate.lmdb): move one of them away`,
    );
  rmSync(formerIn(folder));
}

/** A former build finds a folder where its file would be, and stops: it must not make an empty store beside ours. */
function refuseFormerBuilds(folder: string): void {
  const path = formerIn(folder);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) rmSync(path);
  rmSync(`${path}-lock`, { force: true });
  mkdirSync(path, { recursive: true });
}

/** What was noted with a batch, and is known no more: ops were done with it. */
function forgotten({ entries }: Batch, { attention }: FormerTables): AttentionKey[] {
  const notes = entries.flatMap((entry) => entry.attention ?? []);
  return notes
    .filter(({ id, kind }) => attention?.doesExist([id, kind]) !== true)
    .map(({ id, kind }) => ({ kind, id }));
}

/**
 * The rows of the journals. What they note for ops, and the store had forgotten, is told to `onForgotten`.
 * @throws OperatorError where a journal isn't what its hashes say
 */
function* batchRows(
  former: FormerTables,
  heads: Heads,
  onForgotten: (key: AttentionKey) => void,
): Generator<string> {
  const { journal } = former;
  for (const { key, value } of journal.getRange({ snapshot: false })) {
    const [account, seq] = key;
    const before = heads.get(account) ?? { seq: 0, hash: ZERO_HASH };
    const batch = parseBatch(value);
    if (!follows(batch, before))
      throw new OperatorError(
        `batch ${seq} of ${account} is not what its hash says: the store stays as it is; verify of the build that wrote it tells more`,
      );
    heads.set(account, { seq, hash: batch.hash });
    for (const gone of forgotten(batch, former)) onForgotten(gone);
    yield value;
  }
}

function* keptFacts({ accounts, marks, deliveries, attention, listsItems }: FormerTables): Generator<Fact> {
  for (const { value } of accounts?.getRange() ?? []) yield { kind: 'account', account: JSON.parse(value) };
  for (const { key, value } of marks?.getRange() ?? []) yield { kind: 'mark', name: key, text: value };
  for (const { value } of deliveries?.getRange({ snapshot: false }) ?? [])
    yield { kind: 'delivery', record: JSON.parse(value) as DeliveryRecord };
  for (const { value } of attention?.getRange({ snapshot: false }) ?? []) {
    const { item, done }: Noted = JSON.parse(value);
    // A build without lists forgot a dead delivery that ops were done with.
    if (done && item.kind === 'dead' && !listsItems) continue;
    yield { kind: 'noted', item, ...(done ? { done } : {}) };
  }
}

function* dueFacts({ due, parked, backlog }: FormerTables, now: number): Generator<Fact> {
  for (const { value } of due?.getRange({ snapshot: false }) ?? []) {
    const { items, made = now }: FormerDueRow = JSON.parse(value);
    for (const item of items) if (item !== null) yield { kind: 'due', due: item, made };
  }
  for (const table of [parked, backlog])
    for (const { value } of table?.getRange({ snapshot: false }) ?? [])
      yield { kind: 'due', due: JSON.parse(value) as Due, made: now };
}

function* rowsOf(facts: Iterable<Fact>): Generator<string> {
  let together: Fact[] = [];
  for (const fact of facts) {
    together.push(fact);
    if (together.length < FACTS) continue;
    yield factsRow(together);
    together = [];
  }
  if (together.length > 0) yield factsRow(together);
}

async function write(log: Log, rows: Iterable<string>, onGroup: () => void): Promise<void> {
  let together: string[] = [];
  const writeTogether = async (): Promise<void> => {
    const group = log.begin();
    await log.write(group, () => {
      for (const row of together) group.batch(row);
    });
    together = [];
    onGroup();
  };
  for (const row of rows) {
    together.push(row);
    if (together.length === GROUP) await writeTogether();
  }
  if (together.length > 0) await writeTogether();
}

/** The heads of the journals in a log. */
async function headsIn(log: Log): Promise<Heads> {
  const heads: Heads = new Map();
  for (const { number, text } of log.after(0)) {
    // Whoever asks who holds the folder is answered meanwhile.
    if (number % ROWS_A_TURN === 0) await turn();
    const row = parseRow(text);
    if (row.kind === 'facts') continue;
    const { account, seq, hash } = parseBatch(row.value);
    heads.set(account, { seq, hash });
  }
  return heads;
}

function compareHeads(expected: Heads, written: Heads): void {
  const isSame =
    expected.size === written.size &&
    [...expected].every(([account, { seq, hash }]) => {
      const head = written.get(account);
      return head?.seq === seq && head.hash === hash;
    });
  if (!isSame)
    throw new OperatorError('the log that was made of the former store has other heads: it stays as it is');
}

async function makeLog(
  path: string,
  former: FormerTables,
  { now, onProgress }: TakeoverOptions,
): Promise<void> {
  const heads: Heads = new Map();
  const log = new Log(path);
  try {
    const gone: Fact[] = [];
    const rows = batchRows(former, heads, (key) => gone.push({ kind: 'withdrawn', key }));
    await write(log, rows, () => onProgress(log.last));
    await write(log, rowsOf(gone), () => {});
    await write(log, rowsOf(keptFacts(former)), () => {});
    const dueFrom = log.last + 1;
    await write(log, rowsOf(dueFacts(former, now)), () => {});
    await log.keepState({
      format: FORMAT,
      generation: '',
      boot: null,
      clean: false,
      dueFrom,
      madeOfFormer: true,
    });
    compareHeads(heads, await headsIn(log));
  } finally {
    await log.close();
  }
}

/**
 * Takes the folder over where it is a former build's. The caller holds the folder.
 * @throws FolderHeld where a process of a former build has it
 * @throws OperatorError where there is no space, or a journal is not what its hashes say; the folder is as it was then
 */
export async function takeOver(options: TakeoverOptions): Promise<void> {
  const { folder, now } = options;
  const size = formerSize(folder);
  if (size !== null && !hasLog(folder)) {
    const former = openFormer(folder);
    if (former !== null) {
      const path = `${logIn(folder)}.new`;
      try {
        expectNoFormerHolder(folder, former, now);
        expectSpace(folder, size);
        // What an earlier attempt left behind is no store.
        for (const file of [path, `${path}-lock`]) rmSync(file, { force: true });
        await makeLog(path, former, options);
      } finally {
        await former.root.close();
      }
      rmSync(`${path}-lock`, { force: true });
      renameSync(path, logIn(folder));
      flushToDisk(folder);
    }
  }
  if (formerSize(folder) !== null && hasLog(folder)) await endFormer(folder);
  refuseFormerBuilds(folder);
}
