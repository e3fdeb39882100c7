/** Rejected deliveries that two of ops try again at once, or whose retry dies half way. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Core } from '../../src/core.ts';
import { itemFor } from '../../src/engine/attention/item.ts';
import type { DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import type { AttentionItem, Settlement, Store } from '../../src/engine/store.ts';
import type { Failed } from '../../src/ops/failed.ts';
import { retry, revive } from '../../src/ops/retry.ts';
import { rejectedItem } from '../../src/webhooks/rejected.ts';
import { Folder } from '../cli/support.ts';
import { chargeCreated, grow, iso, settings } from '../store/contract/builders.ts';
import { but } from '../support/but.ts';
import { testServer } from '../support/store.ts';

const test = suite('retries together');
const URL = 'http://127.0.0.1:9/gone';
const ACCOUNT = settings({ id: 'acc_gone' });
const BY = { name: 'Ana', reason: 'the URL is back', role: 'operator' } as const;
const COUNT = 60;

/** Rejected deliveries, all counted in one item. */
async function rejected({ store }: Core): Promise<Failed[]> {
  const at = Date.now() - COUNT;
  const charges = Array.from({ length: COUNT }, () => chargeCreated(at, { urls: [URL] }));
  const { claims } = await grow(store, ACCOUNT.id, charges, { claimUntil: at });
  const failed: Failed[] = [];
  const settlements = claims.flatMap((claim): Settlement[] => {
    if (claim.due.kind !== 'delivery') return [];
    const { account, transaction, delivery: id } = claim.due;
    const attempts = [{ at: iso(at), statusCode: 410, error: null, durationMs: 9 }];
    const parts = { id, account, transaction, status: 'rejected' as const, failures: 1, attempts };
    const record: DeliveryRecord = { ...parts, nextAttemptAt: null, deliveredAt: null };
    failed.push({ record, url: URL });
    const counted = rejectedItem({ account, url: URL }, 'pix-in.waiting_payment', record);
    return [{ claim, next: null, record, counted }];
  });
  await store.due.settle(settlements);
  assert.is(failed.length, COUNT);
  return failed;
}

async function counts({ store }: Core): Promise<unknown[]> {
  const items: AttentionItem[] = await store.attention.page({ kind: 'rejected' }, null, 10);
  return items.map(({ data }) => (data as { count: number }).count);
}

async function recordOf({ store }: Core, { record }: Failed): Promise<DeliveryRecord | undefined> {
  return (await store.journal.deliveries(record.transaction)).find(({ id }) => id === record.id);
}

/** A core on a folder of its own, with rejected deliveries. */
async function withRejected(body: (core: Core, failed: Failed[]) => Promise<void>): Promise<void> {
  const folder = await Folder.make();
  try {
    await folder.withCore(async (core) => {
      await core.store.accounts.put(ACCOUNT);
      await body(core, await rejected(core));
    });
  } finally {
    await folder.remove();
  }
}

test('the store is told by which clock it starts', async () => {
  await withRejected(async ({ store }, failed) => {
    const now = Date.now();
    const clocks = new Set<number | undefined>();
    const settle = (settlements: Settlement[]): Promise<boolean[]> => {
      for (const { clock } of settlements) clocks.add(clock);
      return store.due.settle(settlements);
    };
    const watched = but(store, { due: but(store.due, { settle }) });
    assert.is((await revive(watched, failed, now)).length, COUNT);
    assert.equal([...clocks], [now]);
  });
});

test('what two try again at once starts once, and is taken off its item once', async () => {
  await withRejected(async (core, failed) => {
    const charges = failed.map(({ record }) => record.transaction);
    const ids = failed.map(({ record }) => record.id);
    const outcomes = await Promise.all([
      retry(core, charges.slice(1), {}, { id: 'many', by: BY }),
      retry(core, charges.slice(1, 2), {}, { id: 'one', by: BY }),
    ]);
    const started = outcomes.flatMap((each) => (each.kind === 'retried' ? each.deliveries : []));
    assert.equal(started.sort(), ids.slice(1).sort(), 'each once');
    assert.equal(await counts(core), [1], 'the one that is still rejected stays on the list');
  });
});

test('a delivery that came further since it was read is left alone', async () => {
  await withRejected(async (core, [first, ...others]) => {
    if (first === undefined) throw new Error('nothing was rejected');
    const { record } = first;
    const attempts = [
      ...record.attempts,
      { at: iso(Date.now()), statusCode: 200, error: null, durationMs: 9 },
    ];
    const delivered = { ...record, status: 'delivered' as const, attempts, deliveredAt: iso(Date.now()) };
    await core.store.due.settle([{ claim: null, next: null, record: delivered }]);
    const started = await revive(core.store, [first, ...others.slice(0, 2)], Date.now());
    assert.is(started.length, 2);
    assert.equal(await recordOf(core, first), delivered, 'its attempts are kept');
    assert.equal(await counts(core), [COUNT - 2]);
  });
});

if (testServer() !== null)
  test('what another process started since it was read is left alone, however late', async () => {
    await withRejected(async ({ store, ...core }, failed) => {
      const records = new Map(failed.map(({ record }) => [record.transaction, [record]]));
      const deliveries = async (id: string): Promise<DeliveryRecord[]> => records.get(id) ?? [];
      const before = but<Store>(store, { journal: but(store.journal, { deliveries }) });
      assert.is((await revive(store, failed.slice(0, 2), Date.now())).length, 2);
      const started = await revive(before, failed.slice(0, 3), Date.now());
      assert.equal(
        started.map(({ record }) => record.id),
        failed.slice(2, 3).map(({ record }) => record.id),
      );
      assert.equal(await counts({ store, ...core }), [COUNT - 3], 'each is counted once');
    });
  });

/** Ends a delivery as dead, and tells ops. */
async function die({ due }: Store, { record }: Failed, since: string): Promise<Failed> {
  const { id, account, transaction } = record;
  const data = { event: 'pix-in.waiting_payment', error: null, status: 503 };
  const about = { account, transaction, delivery: id, url: URL };
  const dead = { ...record, status: 'dead' as const };
  const attention = itemFor('DELIVERY_DEAD', { id, since, about, data });
  await due.settle([{ claim: null, next: null, record: dead, attention }]);
  return { record: dead, url: URL };
}

async function deadSince({ attention }: Store): Promise<string[]> {
  return (await attention.page({ kind: 'dead' }, null, 10)).map(({ since }) => since);
}

test('a delivery that is dead again before its retry was answered is on the list again', async () => {
  await withRejected(async ({ store }, [first, second]) => {
    if (first === undefined || second === undefined) throw new Error('nothing was rejected');
    const long = iso(Date.now() - 60_000);
    const dead = [await die(store, first, long), await die(store, second, long)];
    const again = iso(Date.now() + 1_000);
    const settle: Store['due']['settle'] = async (settlements) => {
      const settled = await store.due.settle(settlements);
      await die(store, first, again);
      return settled;
    };
    const dying = but<Store>(store, { due: but(store.due, { settle }) });
    assert.is((await revive(dying, dead, Date.now())).length, 2);
    assert.equal(await deadSince(store), [again], 'the other one is off it');
  });
});

test('an item that was noted while the clock was ahead goes with the retry', async () => {
  await withRejected(async ({ store }, [first]) => {
    if (first === undefined) throw new Error('nothing was rejected');
    const dead = await die(store, first, iso(Date.now() + 3_600_000));
    assert.is((await revive(store, [dead], Date.now())).length, 1);
    assert.equal(await deadSince(store), []);
  });
});

test('a retry that dies half way leaves nothing that failed off the list', async () => {
  await withRejected(async (core, failed) => {
    const broken = async (): Promise<never> => {
      throw new Error('killed');
    };
    const { store: whole } = core;
    const stores = [
      but<Store>(whole, { due: but(whole.due, { settle: broken }) }),
      but<Store>(whole, { attention: but(whole.attention, { discount: broken }) }),
    ];
    for (const store of stores) {
      await revive(store, failed, Date.now()).then(
        () => assert.unreachable('it was to die'),
        (error: unknown) => assert.match(String(error), 'killed'),
      );
      assert.equal(await counts(core), [COUNT]);
    }
  });
});

test.run();
