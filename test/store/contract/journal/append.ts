/** Appends: compare-and-append, whole or not at all, recognised when they come again. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { ZERO_HASH } from '../../../../src/engine/journal.ts';
import { allDue } from '../../../../src/engine/store/due.ts';
import type { Append, Store } from '../../../../src/engine/store.ts';
import { appendAfter, chargeCreated, chargePaid, grow, headAfter, iso } from '../builders.ts';
import {
  type ContractContext,
  contractPart,
  drain,
  duesOf,
  first,
  lookupsOf,
  recordsOf,
  same,
  sameSet,
} from '../harness.ts';

const RACERS = 64;

/** Everything that an append of one charge can leave behind. */
function chargeAppend(
  account: string,
  head: Parameters<typeof appendAfter>[1],
  at: number,
  externalRef: string,
) {
  const id = randomUUID();
  const entry = chargeCreated(at, {
    id,
    externalRef,
    urls: ['https://example.com/a'],
    timers: [{ name: 'EXPIRE', at: iso(at) }],
    orders: [{ kind: 'wake', step: 0, at: iso(at) }],
    attention: { kind: 'stuck', id: `att_${id}`, what: 'a charge', next: 'look at it' },
  });
  return appendAfter(account, head, [entry]);
}

/** The store holds what these appends left, all of it and nothing else. */
async function holdsOnly(
  store: Store,
  account: string,
  appends: readonly Append[],
  now: number,
): Promise<void> {
  const last = appends.at(-1);
  if (last) same(await store.journal.head(account), headAfter(last));
  else assert.is((await store.journal.head(account)).seq, 0);
  same(
    await store.journal.batchesFrom(account, 1, 1_000),
    appends.map(({ batch }) => batch),
  );
  sameSet(
    await recordsOf(store, account),
    appends.flatMap(({ records }) => records),
  );
  const lookups = new Map(
    appends.flatMap((each) => each.lookups).map((row) => [`${row.name}:${row.key}`, row]),
  );
  sameSet(await lookupsOf(store, account), [...lookups.values()]);
  sameSet(
    await store.attention.page({}, null, 1_000),
    appends.flatMap(({ attention }) => attention),
  );
  for (const kind of ['timer', 'bank', 'delivery'] as const) {
    const due = allDue(appends.flatMap((each) => each.due)).filter((each) => each.kind === kind);
    sameSet(duesOf(await drain(store, kind, now)), due, `what is due as ${kind}`);
  }
}

export function appendContract(context: ContractContext): void {
  contractPart(context, 'journal: append', (test) => {
    test('an account without a batch has an empty head', async ({ open }) => {
      const store = await open('a');
      const head = await store.journal.head(randomUUID());
      assert.is(head.seq, 0);
      assert.is(head.hash, ZERO_HASH);
      same(head.balances, { available: 0, clearing: 0, fees: 0, bank: 0 });
    });

    test('an append is seen whole, by every incarnation', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const account = randomUUID();
      const append = chargeAppend(account, await a.journal.head(account), now(), 'order 1');
      same(await a.journal.append(append), { outcome: 'appended', claims: [] });
      const record = first(append.records);
      same(await b.journal.transaction(record.id), record);
      same(await b.journal.batches(account, [1]), [append.batch]);
      const lookup = { name: 'externalRef' as const, key: 'order 1' };
      same(await b.journal.read(account, { transactions: [record.id], lookups: [lookup] }), {
        transactions: [record],
        lookups: [record.id],
      });
      await holdsOnly(b, account, [append], now());
    });

    test('a later batch replaces the record, and the head', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now());
      const created = await grow(store, account, [charge]);
      const paid = await grow(store, account, [chargePaid(now(), charge.transaction, 'E1')], {
        known: created.append.records,
      });
      const record = first(paid.append.records);
      same(record.seqs, [1, 2]);
      same(await store.journal.transaction(charge.transaction), record);
      same(await store.journal.head(account), headAfter(paid.append));
      assert.is((await store.journal.head(account)).balances.available, 9_900);
    });

    test(`of ${RACERS} racers on one sequence number exactly one wins`, async ({ open, now }) => {
      const stores = [await open('a'), await open('b')];
      const account = randomUUID();
      const winners: Append[] = [];
      for (let round = 0; round < context.rounds; round++) {
        const head = await first(stores).journal.head(account);
        const racers = Array.from({ length: RACERS }, () =>
          chargeAppend(account, head, now(), `race ${round}`),
        );
        const results = await Promise.all(
          racers.map((append, index) => (stores[index % 2] ?? first(stores)).journal.append(append)),
        );
        const won = racers.filter((_, index) => results[index]?.outcome === 'appended');
        assert.is(won.length, 1, `round ${round}`);
        winners.push(first(won));
        for (const store of stores) same(await store.journal.head(account), headAfter(first(won)));
        const key = { name: 'externalRef' as const, key: `race ${round}` };
        const ids = racers.flatMap(({ records }) => records.map(({ id }) => id));
        const reads = await first(stores).journal.read(account, { transactions: ids, lookups: [key] });
        same(reads.lookups, [first(first(won).records).id]);
        assert.is(reads.transactions.filter((record) => record !== null).length, 1);
      }
      await holdsOnly(first(stores), account, winners, now());
    });

    test('racers that read and try again all get through, in a chain', async ({ open, now }) => {
      const stores = [await open('a'), await open('b')];
      const account = randomUUID();
      const writer = async (store: Store): Promise<void> => {
        for (let done = 0; done < 10; ) {
          const append = appendAfter(account, await store.journal.head(account), [chargeCreated(now())]);
          if ((await store.journal.append(append)).outcome === 'appended') done += 1;
        }
      };
      await Promise.all([...stores, ...stores].map(writer));
      const batches = await first(stores).journal.batchesFrom(account, 1, 100);
      assert.is(batches.length, 40);
      let previous = ZERO_HASH;
      for (const [index, batch] of batches.entries()) {
        assert.is(batch.seq, index + 1);
        assert.is(batch.previous, previous);
        previous = batch.hash;
      }
      assert.is((await recordsOf(first(stores), account)).length, 40);
    });

    test('a stale append leaves no trace', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const empty = await store.journal.head(account);
      const winner = chargeAppend(account, empty, now(), 'same');
      const late = { ...chargeAppend(account, empty, now(), 'same'), claimUntil: now() };
      assert.is((await store.journal.append(winner)).outcome, 'appended');
      same(await store.journal.append(late), { outcome: 'stale' });
      assert.is(await store.journal.transaction(first(late.records).id), null);
      await holdsOnly(store, account, [winner], now());
    });

    test('a gap in the sequence numbers is stale', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const entry = chargeCreated(now());
      const early = appendAfter(account, await store.journal.head(account), [entry], { seq: 2 });
      same(await store.journal.append(early), { outcome: 'stale' });
      const { append } = await grow(store, account, [chargeCreated(now())]);
      const skipping = appendAfter(account, headAfter(append), [entry], { seq: 3 });
      same(await store.journal.append(skipping), { outcome: 'stale' });
      await holdsOnly(store, account, [append], now());
    });

    test('appends of many accounts at once have an outcome each', async ({ open, now }) => {
      const stores = [await open('a'), await open('b')];
      const accounts = Array.from({ length: 60 }, () => randomUUID());
      const firsts = await Promise.all(
        accounts.map((account) => grow(first(stores), account, [chargeCreated(now())])),
      );
      const stale = (index: number): boolean => index % 3 === 0;
      const seconds = accounts.map((account, index) => {
        const { append } = firsts[index] ?? first(firsts);
        return appendAfter(
          account,
          headAfter(append),
          [chargeCreated(now())],
          stale(index) ? { seq: 1 } : {},
        );
      });
      const results = await Promise.all(
        seconds.map((append, index) => (stores[index % 2] ?? first(stores)).journal.append(append)),
      );
      for (const [index, account] of accounts.entries()) {
        assert.is(results[index]?.outcome, stale(index) ? 'stale' : 'appended', `account ${index}`);
        const records = await recordsOf(first(stores), account);
        assert.is(records.length, stale(index) ? 1 : 2);
        assert.is((await first(stores).journal.head(account)).seq, stale(index) ? 1 : 2);
      }
    });

    test('the same batch again is answered appended and stored once', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const append = chargeAppend(account, await store.journal.head(account), now(), 'once');
      const results = await Promise.all([
        store.journal.append(append),
        store.journal.append(append),
        store.journal.append(append),
      ]);
      results.push(await store.journal.append(append));
      for (const { outcome } of results) assert.is(outcome, 'appended');
      await holdsOnly(store, account, [append], now());
    });

    test('the same batch again, after the one behind it, takes nothing back', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const older = chargeAppend(account, await store.journal.head(account), now(), 'ref');
      await store.journal.append(older);
      await store.due.settle((await drain(store, 'timer', now())).map((claim) => ({ claim, next: null })));
      const paid = chargePaid(now(), first(older.records).id, 'E1');
      const newer = await grow(store, account, [paid, chargeCreated(now(), { externalRef: 'ref' })], {
        known: older.records,
      });
      assert.is((await store.journal.append(older)).outcome, 'appended');
      same(await store.journal.transaction(first(older.records).id), first(newer.append.records));
      same(await store.journal.head(account), headAfter(newer.append));
      const { lookups } = await store.journal.read(account, {
        transactions: [],
        lookups: [{ name: 'externalRef', key: 'ref' }],
      });
      same(lookups, [newer.append.records[1]?.id]);
      same(await store.due.claim('timer', now(), 10), [], 'what was settled is not due again');
    });
  });
}
