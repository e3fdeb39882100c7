/** What ops see: deliveries' progress, what needs a person, cashouts that don't end. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { AttentionItem } from '../../../src/engine/store.ts';
import { cashoutCreated, cashoutMoved, chargeCreated, deliveryRecord, grow, iso } from './builders.ts';
import { type ContractContext, contractPart, first, same, sameSet } from './harness.ts';

function item(id: string, since: number, what = 'it hangs'): AttentionItem {
  return { kind: 'stuck', id, what, next: `pixstate inspect ${id}`, since: iso(since) };
}

export function opsContract(context: ContractContext): void {
  contractPart(context, 'ops', (test) => {
    test('the progress of a delivery is kept and replaced', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const account = randomUUID();
      const [mine, other] = [chargeCreated(now()), chargeCreated(now())];
      await grow(a, account, [mine, other]);
      same(await a.journal.deliveries(mine.transaction), []);
      const records = [0, 1].map(() => deliveryRecord(account, mine.transaction, now()));
      const foreign = deliveryRecord(account, other.transaction, now());
      const put = [...records, foreign].map((record) => ({ claim: null, next: null, record }));
      same(await a.due.settle(put), [true, true, true]);
      sameSet(await b.journal.deliveries(mine.transaction), records);
      const [one, two] = records;
      if (!one || !two) throw new Error('two were made');
      const attempt = { at: iso(now()), statusCode: null, error: 'ECONNRESET: "x"', durationMs: 0.5 };
      const later = {
        ...one,
        status: 'dead' as const,
        failures: 6,
        attempts: [...one.attempts, attempt],
        nextAttemptAt: null,
      };
      same(await b.due.settle([{ claim: null, next: null, record: later }]), [true]);
      sameSet(await a.journal.deliveries(mine.transaction), [later, two]);
      same(await a.journal.deliveries(other.transaction), [foreign]);
      same(await a.journal.deliveries(randomUUID()), []);
    });

    test('attention is listed oldest first', async ({ open, now }) => {
      const store = await open('a');
      same(await store.attention.list(), []);
      const items = [5, 1, 9, 3, 7].map((step) => item(`m${step}`, now() + step));
      await store.attention.note(items.slice(0, 2));
      await store.attention.note(items.slice(2));
      await store.attention.note([]);
      same(
        (await store.attention.list()).map(({ id }) => id),
        ['m1', 'm3', 'm5', 'm7', 'm9'],
      );
      sameSet(await store.attention.list(), items);
    });

    test('an item that is known stays as it is', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      await a.attention.note([item('x', now())]);
      await b.attention.note([
        item('x', now() + 1, 'something else'),
        item('y', now() + 2),
        item('y', now() + 3),
      ]);
      same(await a.attention.list(), [item('x', now()), item('y', now() + 2)]);
      await Promise.all([a, b].map((store, index) => store.attention.note([item('z', now() + 4 + index)])));
      assert.is((await a.attention.list()).filter(({ id }) => id === 'z').length, 1);
    });

    test('what is done leaves the list and stays known', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const odd = 'msg "\u2028" : \\ é';
      await a.attention.note([item(odd, now()), item('other', now() + 1)]);
      assert.is(await b.attention.dismiss(odd), true);
      same(
        (await a.attention.list()).map(({ id }) => id),
        ['other'],
      );
      await a.attention.note([item(odd, now() + 9)]);
      const entry = chargeCreated(now(), {
        attention: { kind: 'stuck', id: odd, what: 'again', next: 'look' },
      });
      await grow(a, randomUUID(), [entry]);
      await a.due.tidy(now());
      same(
        (await a.attention.list()).map(({ id }) => id),
        ['other'],
      );
      assert.is(await a.attention.dismiss('nothing'), false);
    });

    test('appends and settlements note, too', async ({ open, now }) => {
      const store = await open('a');
      const note = { kind: 'return' as const, id: 'E1', what: 'given back', next: 'look' };
      await grow(store, randomUUID(), [chargeCreated(now(), { attention: note })]);
      const dead = item('dlv_1', now() + 1);
      same(await store.due.settle([{ claim: null, next: null, attention: dead }]), [true]);
      same(await store.attention.list(), [{ ...note, since: iso(now()) }, dead]);
      const again = { ...dead, what: 'later' };
      await store.due.settle([{ claim: null, next: null, attention: again }]);
      same((await store.attention.list())[1], again, 'what happens again is news again');
      assert.is(await store.attention.dismiss('dlv_1'), true);
      await store.due.settle([{ claim: null, next: null, attention: dead }]);
      same((await store.attention.list())[1], dead, 'also where somebody was done with it');
    });

    test('open cashouts are those that are not final and have not changed since', async ({
      open,
      now,
      advance,
    }) => {
      const store = await open('a');
      const account = randomUUID();
      const ids = async (before: number, limit = 10): Promise<string[]> =>
        (await store.journal.openCashouts(iso(before), limit)).map(({ id }) => id);
      const start = now();
      const made = [0, 1, 2, 3].map(() => cashoutCreated(start));
      const [pending, processing, completed, cancelled] = made.map(({ transaction }) => transaction);
      if (!pending || !processing || !completed || !cancelled) throw new Error('four were made');
      const created = await grow(store, account, made);
      same(await ids(start), [], 'before means before');
      sameSet(await ids(start + 1_000), [pending, processing, completed, cancelled]);
      assert.is((await ids(start + 1_000, 3)).length, 3);

      advance(5_000);
      const changes = [
        cashoutMoved(now(), processing, 'pending', 'processing'),
        cashoutMoved(now(), completed, 'processing', 'completed'),
        cashoutMoved(now(), cancelled, 'pending', 'cancelled'),
        chargeCreated(now()),
      ];
      const moved = await grow(store, account, changes, { known: created.append.records });
      const recent = cashoutCreated(now());
      await grow(store, randomUUID(), [recent]);
      sameSet(await store.journal.openCashouts(iso(now()), 10), created.append.records.slice(0, 1));
      sameSet(await ids(now() + 1_000), [pending, processing, recent.transaction]);

      advance(300_000);
      await store.due.tidy(now());
      sameSet(await ids(now()), [pending, processing, recent.transaction]);
      const ends = [
        cashoutMoved(now(), pending, 'pending', 'rejected'),
        cashoutMoved(now(), processing, 'processing', 'failed'),
      ];
      await grow(store, account, ends, { known: [...created.append.records, ...moved.append.records] });
      advance(300_000);
      same(await ids(now()), [recent.transaction]);
      await store.due.tidy(now());
      same(await ids(now()), [recent.transaction]);
    });

    test('one id may be on the list for two reasons', async ({ open, now }) => {
      const store = await open('a');
      const [stuck, dead] = [item('x', now()), { ...item('x', now() + 1), kind: 'quarantined' as const }];
      await store.attention.note([stuck]);
      await store.attention.note([dead]);
      same(await store.attention.list(), [stuck, dead]);
      assert.is(await store.attention.dismiss('x'), true);
      same(await store.attention.list(), []);
    });

    test('tidying takes nothing away that is needed', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      await store.due.beat(now());
      const entry = chargeCreated(now(), {
        externalRef: 'r',
        urls: ['https://a.example'],
        timers: [{ name: 'X', at: iso(now() + 1_000) }],
      });
      const { append } = await grow(store, account, [entry]);
      const claim = first(await store.due.claim('delivery', now(), 10));
      await store.due.tidy(now());
      same(await store.journal.transaction(entry.transaction), first(append.records));
      sameSet(await store.journal.lookups(account), append.lookups);
      assert.is((await store.journal.append(append)).outcome, 'appended');
      same(await store.due.settle([{ claim, next: null }]), [true]);
      assert.is((await store.due.claim('timer', now() + 1_000, 10)).length, 1);
    });
  });
}
