/** What the store's contract runs on, and what its parts share. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import type { TransactionRecord } from '../../../src/engine/journal.ts';
import type { Claim, Due, DueKind } from '../../../src/engine/store/due.ts';
import type { LookupPage, LookupRow } from '../../../src/engine/store/lookups.ts';
import type { Store } from '../../../src/engine/store.ts';

/** A store under test: fresh data, its incarnations and the clock that they go by. */
export interface StoreHarness {
  /** Another incarnation on the same data. */
  open(incarnation: string): Promise<Store>;
  /** Closes all and opens again: what was answered is there. */
  reopen(incarnation: string): Promise<Store>;
  /** The stores' clock, ms since 1970. It starts at a whole second: see `storeContract`. */
  now(): number;
  /** Moves the stores' clock. */
  advance(ms: number): void;
  /** Closes what is open and removes the data. */
  close(): Promise<void>;
}

/** When the clock of a harness starts, ms since 1970. */
export const START = Date.UTC(2026, 0, 5, 12);

/**
 * A harness on one place for data. `openStore` opens a store there that goes by the clock `now`; `remove` takes
 * the data away once all stores are closed.
 */
export function harnessOn(
  openStore: (incarnation: string, now: () => number) => Promise<Store>,
  remove: () => Promise<void>,
): StoreHarness {
  let opened: Store[] = [];
  let at = START;
  const now = (): number => at;
  const open = async (incarnation: string): Promise<Store> => {
    const store = await openStore(incarnation, now);
    opened.push(store);
    return store;
  };
  const closeAll = async (): Promise<void> => {
    await Promise.all(opened.map((store) => store.close()));
    opened = [];
  };
  return {
    open,
    reopen: async (incarnation) => {
      await closeAll();
      return open(incarnation);
    },
    now,
    advance: (ms) => {
      at += ms;
    },
    close: async () => {
      await closeAll();
      await remove();
    },
  };
}

/** What each part of the contract is given. */
export interface ContractContext {
  name: string;
  start: () => Promise<StoreHarness>;
  /** How often races are run. */
  rounds: number;
  silentAfterMs: number;
}

/** Adds a test on a store of its own. */
export type ContractTest = (name: string, body: (harness: StoreHarness) => Promise<void>) => void;

const TEST_LIMIT_MS = 120_000;

/** Runs one part of the contract; each of its tests has a harness of its own, and a bound. */
export function contractPart(
  context: ContractContext,
  part: string,
  define: (test: ContractTest) => void,
): void {
  const tests = suite(`${context.name}: ${part}`);
  define((name, body) => {
    tests(name, async () => {
      const harness = await context.start();
      try {
        await bounded(body(harness));
      } finally {
        await harness.close();
      }
    });
  });
  tests.run();
}

async function bounded(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${TEST_LIMIT_MS} ms`)), TEST_LIMIT_MS);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Both are the same JSON, to the byte. */
export function same(actual: unknown, expected: unknown, what = 'the same JSON'): void {
  const [is, should] = [canonicalJson(actual), canonicalJson(expected)];
  // A difference of megabytes can't be read, and takes long to make.
  if (should.length + is.length > 20_000) assert.ok(is === should, what);
  else assert.is(is, should, what);
}

/** Both hold the same values, in any order. */
export function sameSet(
  actual: readonly unknown[],
  expected: readonly unknown[],
  what = 'the same values',
): void {
  same(actual.map(canonicalJson).sort(), expected.map(canonicalJson).sort(), what);
}

/** Claims until nothing is left; more claims than that takes is a failure. */
export async function drain(
  store: Store,
  kind: DueKind,
  now: number,
  limit = 500,
  most = 100,
): Promise<Claim[]> {
  const all: Claim[] = [];
  for (let round = 0; round < most; round++) {
    const claims = await store.due.claim(kind, now, limit);
    assert.ok(claims.length <= limit, 'no more than the limit');
    if (claims.length === 0) return all;
    all.push(...claims);
  }
  throw new Error(`still due after ${most} claims`);
}

/** Several incarnations claim at the same time until nothing is left; each one's claims. */
export async function drainTogether(
  stores: readonly Store[],
  kind: DueKind,
  now: number,
  limit: number,
): Promise<Claim[][]> {
  const claims = await Promise.all(stores.map((store) => drain(store, kind, now, limit, 1_000)));
  // One that found nothing may have been too early to see what another one left.
  const rest = await drain(first(stores), kind, now, limit);
  return claims.map((own, index) => (index === 0 ? [...own, ...rest] : own));
}

/** Each incarnation ends its own claims, and all of them count. */
export async function settleAll(stores: readonly Store[], claims: readonly Claim[][]): Promise<void> {
  for (const [index, store] of stores.entries()) {
    const own = claims[index] ?? [];
    const ended = await store.due.settle(own.map((claim) => ({ claim, next: null })));
    assert.is(ended.filter((each) => each).length, own.length);
  }
}

/** An account's records; the port gives those of all accounts. */
export async function recordsOf(store: Store, account: string): Promise<TransactionRecord[]> {
  const records: TransactionRecord[] = [];
  for (let after = ''; ; ) {
    const page = await store.journal.records(after, 1_000);
    records.push(...page.filter((record) => record.account === account));
    if (page.length < 1_000) return records;
    after = page.at(-1)?.id ?? '';
  }
}

/** An account's lookups; of several rows of one key the last. */
export async function lookupsOf(store: Store, account: string): Promise<LookupRow[]> {
  const rows = new Map<string, LookupRow>();
  for (let after: string | null = null; ; ) {
    const page: LookupPage = await store.journal.lookups(account, after, 100);
    for (const row of page.rows) rows.set(`${row.name}:${row.key}`, row);
    if (page.next === null) return [...rows.values()];
    after = page.next;
  }
}

/** The first of a list that must not be empty. */
export function first<Value>(values: readonly Value[]): Value {
  const [value] = values;
  if (value === undefined) throw new Error('nothing is there');
  return value;
}

/** What the claims are about. */
export function duesOf(claims: readonly Claim[]): Due[] {
  return claims.map(({ due }) => due);
}

/** The transactions that the claims are about. */
export function transactionsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ due }) => due.transaction);
}
