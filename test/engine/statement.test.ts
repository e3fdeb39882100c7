/** Pages of a statement over journals of any length: windows, places, bounds, and what is written meanwhile. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Entry } from '../../src/engine/journal.ts';
import {
  MOST_BATCHES,
  type StatementPage,
  type StatementReads,
  type StatementRow,
  type StatementWish,
  statementsOf,
} from '../../src/engine/statement/page.ts';
import { rowOf } from '../../src/engine/statement/rows.ts';
import { adjusted, chargeCreated, chargePaid, grow, iso, refused } from '../store/contract/builders.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import {
  ACCOUNT,
  adjustment,
  charge,
  Ledger,
  message,
  pay,
  payment,
  refund,
  START,
  transfer,
  uuid,
} from './support.ts';

const s = suite('statement');

const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1_000, place: null };

/** A store with one account, the numbers of the batches that were read of it, and how many at once. */
function open() {
  const store = new MemoryStore({ incarnation: 'one', now: () => START, silentAfterMs: 30_000 });
  const read: number[] = [];
  const asked: number[] = [];
  const journal: StatementReads = {
    head: (account) => store.journal.head(account),
    read: (account, wants) => store.journal.read(account, wants),
    batches: (account, seqs) => {
      read.push(...seqs);
      asked.push(seqs.length);
      return store.journal.batches(account, seqs);
    },
  };
  const statement = statementsOf(journal);
  const page = async (wish: Partial<StatementWish> = {}): Promise<StatementPage> => {
    const found = await statement(ACCOUNT, { ...ALL, ...wish });
    if (found === null) throw new Error('the place is none');
    return found;
  };
  return { store, read, asked, statement, page };
}

const amounts = (rows: readonly StatementRow[]): number[] => rows.map(({ amount }) => amount);

/** Whether a page's rows lead from its opening balance to its closing one. */
function addsUp({ opening, closing, rows }: StatementPage): boolean {
  let balance = opening;
  for (const row of rows) {
    balance += row.amount;
    if (row.balance !== balance) return false;
  }
  return balance === closing;
}

/** All pages of a window, one after the other. */
async function pagesOf(
  page: (wish: Partial<StatementWish>) => Promise<StatementPage>,
  wish: Partial<StatementWish>,
  between: () => Promise<unknown> = async () => {},
): Promise<StatementPage[]> {
  const pages = [await page(wish)];
  for (let last = pages[0]; last !== undefined && last.next !== null; last = pages.at(-1)) {
    await between();
    pages.push(await page({ ...wish, place: last.next }));
  }
  return pages;
}

s('an account without a batch has an empty page', async () => {
  const { page } = open();
  assert.equal(await page(), { opening: 0, closing: 0, rows: [], next: null });
});

s('a window begins with its first millisecond and ends before its last', async () => {
  const { store, page } = open();
  for (let n = 0; n < 5; n += 1) await grow(store, ACCOUNT, [adjusted(START + n * 10, 100 + n)]);
  const inner = await page({ from: START + 10, to: START + 30 });
  assert.equal([inner.opening, inner.closing, amounts(inner.rows), inner.next], [100, 303, [101, 102], null]);
  const between = await page({ from: START + 11, to: START + 20 });
  assert.equal([between.opening, between.closing, between.rows], [201, 201, []]);
  const before = await page({ from: START - 9, to: START });
  assert.equal([before.opening, before.closing, before.rows, before.next], [0, 0, [], null]);
  const after = await page({ from: START + 41, to: START + 99 });
  assert.equal([after.opening, after.closing, after.rows, after.next], [510, 510, [], null]);
});

s("what changes nothing of the balance has no row, and a row has its transaction's reference", async () => {
  const { store, page } = open();
  const created = chargeCreated(START, { externalRef: 'order "7"' });
  const { append } = await grow(store, ACCOUNT, [created]);
  const known = append.records;
  const paid = chargePaid(START + 1, created.transaction, payment(1).endToEndId);
  await grow(store, ACCOUNT, [refused(START + 1, created.transaction, 'waiting_payment', 'm'), paid], {
    known,
  });
  const { rows } = await page();
  assert.equal(
    rows.map(({ type, what, transactionId, externalRef }) => [type, what, transactionId, externalRef]),
    [['pix-in', 'pix-in.paid', created.transaction, 'order "7"']],
  );
});

s(
  'pages of any size, from batches of any size, have each row once, whatever is written meanwhile',
  async () => {
    const history = fc.array(fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 6 }), {
      minLength: 1,
      maxLength: 25,
    });
    const window = fc.tuple(fc.integer({ min: -1, max: 26 }), fc.integer({ min: 0, max: 26 }));
    await fc.assert(
      fc.asyncProperty(history, window, fc.integer({ min: 1, max: 7 }), async (batches, [a, span], limit) => {
        const { store, page } = open();
        let n = 0;
        for (const batch of batches) {
          const at = START + n++;
          await grow(
            store,
            ACCOUNT,
            batch.map((amount) => adjusted(at, amount)),
          );
        }
        const [from, to] = [START + a, START + a + span];
        const within = batches.slice(Math.max(0, a), Math.max(0, a + span)).flat();
        const before = batches.slice(0, Math.max(0, a)).flat();
        const write = (): Promise<unknown> => grow(store, ACCOUNT, [adjusted(START + 100, 1_000)]);
        const pages = await pagesOf(page, { from, to, limit }, write);
        assert.equal(
          pages.flatMap(({ rows }) => amounts(rows)),
          within.filter((amount) => amount !== 0),
        );
        assert.ok(pages.every(addsUp));
        assert.is(
          pages[0]?.opening,
          before.reduce((sum, amount) => sum + amount, 0),
        );
        pages.forEach((one, index) => {
          assert.ok(one.rows.length <= limit);
          assert.is(one.opening, index === 0 ? pages[0]?.opening : pages[index - 1]?.closing);
        });
      }),
    );
  },
);

s('a page reads at most 2,000 batches, and goes on where it stopped', async () => {
  const { store, read, asked, page } = open();
  const created = chargeCreated(START);
  const { append } = await grow(store, ACCOUNT, [created]);
  const silent = 4_500;
  for (let n = 0; n < silent; n += 1) {
    const entry: Entry = refused(START, created.transaction, 'waiting_payment', `m${n}`);
    await grow(store, ACCOUNT, [entry], { known: append.records });
  }
  await grow(store, ACCOUNT, [adjusted(START + 1, 700)]);
  const pages: StatementPage[] = [];
  for (let place: StatementPage['next'] | undefined; place !== null; place = pages.at(-1)?.next) {
    read.length = 0;
    pages.push(await page({ place: place ?? null }));
    assert.ok(read.length <= MOST_BATCHES, `${read.length} batches`);
    assert.ok(Math.max(...asked) <= 64, `${Math.max(...asked)} batches in one turn`);
  }
  assert.equal(
    pages.map(({ rows }) => amounts(rows)),
    [[], [], [700]],
  );
  // What was written last costs a search, and no walk from the beginning.
  read.length = 0;
  const last = await page({ from: START + 1 });
  assert.equal(amounts(last.rows), [700]);
  assert.ok(read.length <= 20, `${read.length} batches`);
});

s('a place beyond the journal is none, and a missing batch is an error', async () => {
  const { store, statement } = open();
  await grow(store, ACCOUNT, [adjusted(START, 1)]);
  assert.is(await statement(ACCOUNT, { ...ALL, place: { seq: 2, index: 0 } }), null);
  const holed = statementsOf({
    head: (account) => store.journal.head(account),
    read: (account, wants) => store.journal.read(account, wants),
    batches: async () => [],
  });
  await holed(ACCOUNT, ALL).then(
    () => assert.unreachable('a page of a journal with a hole'),
    (error: unknown) => assert.match(String(error), `batch 1 of account ${ACCOUNT} is not there`),
  );
});

s('each kind of entry has its type, its name and its refund', () => {
  const ledger = new Ledger();
  const [one, two, out] = [uuid(1), uuid(2), uuid(3)];
  ledger.commit(charge(one), charge(two), pay(one, 1), pay(two, 2));
  ledger.commit(refund(one, uuid(8), 4_000));
  ledger.commit(message(one, 'REFUND_FAILED', { refundId: uuid(8) }));
  ledger.commit(refund(one, uuid(9), 4_000));
  ledger.commit(message(one, 'REFUND_DONE', { refundId: uuid(9) }));
  ledger.commit(message(one, 'CHARGEBACK', { amount: 1_000 }));
  ledger.commit(message(one, 'REFUND', { amount: 2_000 }));
  ledger.commit(message(one, 'REFUND', { amount: 3_000 }));
  ledger.commit(message(two, 'CHARGEBACK'));
  ledger.commit(adjustment(90_000));
  ledger.commit(transfer(out));
  ledger.commit(message(out, 'SETTLE', { endToEndId: payment(7).endToEndId, paidAt: iso(START) }));
  ledger.commit(message(out, 'RETURN', { returnId: 'D1', amount: 100 }));
  let balance = 0;
  const rows = ledger.entries.flatMap(({ entry }) => {
    const row = rowOf(entry, balance);
    balance = row?.balance ?? balance;
    return row === null ? [] : [row];
  });
  assert.is(balance, ledger.balances.available);
  assert.equal(
    rows.map(({ type, what, transactionId, refundId }) => [type, what, transactionId, refundId !== null]),
    [
      ['pix-in', 'pix-in.paid', one, false],
      ['pix-in', 'pix-in.paid', two, false],
      ['refund', 'refund.pending', one, true],
      ['refund', 'refund.failed', one, true],
      ['refund', 'refund.pending', one, true],
      ['pix-in', 'chargeback.booked', one, false],
      ['pix-in', 'refund.completed', one, true],
      ['pix-in', 'pix-in.refunded', one, true],
      ['pix-in', 'pix-in.chargedback', two, false],
      ['adjustment', 'ADJUST', null, false],
      ['cashout', 'cashout.pending', out, false],
      ['cashout', 'return.booked', out, false],
    ],
  );
  assert.equal(rows.map(({ refundId }) => refundId).slice(2, 5), [uuid(8), uuid(8), uuid(9)]);
});

s.run();
