/** The batches of all accounts from their ends backwards: page by page, each once, whatever comes meanwhile. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { itemOf, type Store } from '../../../../src/engine/store.ts';
import { chargeCreated, grow, iso } from '../builders.ts';
import { type ContractContext, contractPart } from '../harness.ts';

async function walked(store: Store, limit: number, meanwhile: () => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  for (let from: string | null = null; ; ) {
    const { batches, next } = await store.journal.newest(from, limit);
    assert.ok(batches.length <= limit);
    for (const { place, batch } of batches) {
      seen.push(`${batch.account} ${batch.seq}`);
      const [again] = (await store.journal.newest(place, 1)).batches;
      assert.equal(again, { place, batch }, 'a place leads to its batch');
    }
    if (next === null) return seen;
    from = next;
    await meanwhile();
  }
}

/** All batches from the place of a time (ms) on backwards. */
async function madeUntil(store: Store, time: number): Promise<string[]> {
  const seen: string[] = [];
  for (let from = await store.journal.placeUntil(time); from !== null; ) {
    const { batches, next } = await store.journal.newest(from, 4);
    seen.push(...batches.map(({ batch }) => `${batch.account} ${batch.seq}`));
    from = next;
  }
  return seen;
}

export function newestContract(context: ContractContext): void {
  contractPart(context, 'journal: newest', (test) => {
    test('batches of all accounts come the newest first, each once', async ({ open, reopen, now }) => {
      const store = await open('a');
      assert.equal(await store.journal.newest(null, 10), { batches: [], unreadable: 0, next: null });
      const accounts = ['a', 'b', 'c'].map((name) => `acc_${name}_${randomUUID()}`);
      const written: string[] = [];
      let at = now();
      async function write(account: string): Promise<void> {
        at += 1_000;
        const { append } = await grow(store, account, [chargeCreated(at), chargeCreated(at)]);
        written.unshift(`${account} ${append.batch.seq}`);
      }
      // One that writes much, one now and then, one that stopped long ago.
      for (let round = 0; round < 30; round++) {
        await write(accounts[0] ?? '');
        if (round % 5 === 0) await write(accounts[1] ?? '');
        if (round < 2) await write(accounts[2] ?? '');
        const item = itemOf({ kind: 'stuck', id: `i${round}`, what: 'w', next: 'n' }, iso(at));
        await store.attention.note([item]);
      }
      for (const limit of [1, 3, 7, 100])
        assert.equal(await walked(store, limit, async () => {}), written, `${limit} a page`);
      const before = [...written];
      let rounds = 0;
      const more = async (): Promise<void> => {
        rounds += 1;
        if (rounds <= 3) await write(accounts[rounds % 3] ?? '');
      };
      assert.equal(await walked(store, 5, more), before, 'what comes meanwhile is not among them');
      const again = await reopen('b');
      assert.equal(await walked(again, 5, async () => {}), written);
      for (const place of ['x', '', '-1', 'x y z', '1 2'])
        assert.ok((await again.journal.newest(place, 3)).batches.length <= 3, place);
    });

    test('what was made until a time is found from its place on', async ({ open, reopen, now }) => {
      const store = await open('a');
      assert.equal(await madeUntil(store, now()), []);
      const accounts = ['a', 'b', 'c'].map((name) => `acc_${name}_${randomUUID()}`);
      const start = now();
      const made: { at: number; id: string }[] = [];
      for (let count = 0; count < 40; count++) {
        const account = accounts[count % 7 === 0 ? 1 : 0] ?? '';
        const at = start + 1_000 * Math.floor(count / 2);
        const { append } = await grow(store, account, [chargeCreated(at)]);
        made.push({ at, id: `${account} ${append.batch.seq}` });
        const item = itemOf({ kind: 'stuck', id: `i${count}`, what: 'w', next: 'n' }, iso(at));
        await store.attention.note([item]);
      }
      const last = made.at(-1)?.at ?? start;
      async function check(each: Store): Promise<void> {
        for (let time = start - 500; time <= last + 1_500; time += 500) {
          const until = made.filter(({ at }) => at <= time).map(({ id }) => id);
          assert.equal((await madeUntil(each, time)).sort(), until.sort(), `${time - start} ms`);
        }
      }
      await check(store);
      await check(await reopen('b'));
    });
  });
}
