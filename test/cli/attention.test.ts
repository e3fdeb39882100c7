import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { itemFor } from '../../src/engine/attention/item.ts';
import type { DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import { type AttentionItem, itemOf } from '../../src/engine/store.ts';
import { at, type Json, list, text, whole } from '../support/json.ts';
import { Folder } from './support.ts';

const test = suite('attention commands');
const URLS = ['http://127.0.0.1:9/one', 'http://127.0.0.1:9/two'];
const START = Date.parse('2026-01-05T12:00:00.000Z');
let folder: Folder;
let accounts: string[] = [];

const iso = (nth: number): string => new Date(START + nth * 60_000).toISOString();
const ids = (page: Json): string[] => list(page, 'items').map((item) => text(item, 'id'));
const from = (first: number, last: number): string[] =>
  Array.from({ length: last - first }, (_, nth) => `m${first + nth}`);

function item(nth: number): AttentionItem {
  const kind = nth % 2 === 0 ? 'unknown' : 'hanging';
  const note = { kind, id: `m${nth}`, what: 'w', next: 'n' } as const;
  return itemOf(note, iso(nth), { account: accounts[nth % 3] ?? null, url: URLS[nth % 2] ?? null }, nth);
}

test.before(async () => {
  folder = await Folder.make();
  accounts = [await folder.account(), await folder.account()];
});
test.before.each(() =>
  folder.withCore(({ store }) => store.attention.note(Array.from({ length: 12 }, (_, nth) => item(nth)))),
);
test.after.each(() =>
  folder.withCore(({ store }) => store.attention.withdraw(Array.from({ length: 12 }, (_, nth) => item(nth)))),
);
test.after(() => folder.remove());

test('an item has a code for programs, and sentences in the language of who reads', async () => {
  const about = { account: accounts[0] ?? null, url: URLS[0] ?? null };
  const coded = itemFor(
    'URL_HANGS',
    { id: 'coded', since: iso(60), about, data: { waiting: 1_000 } },
    123_456,
  );
  await folder.withCore(({ store }) => store.attention.note([coded]));
  try {
    const last = ['attention', '--after', 'm11'];
    const english = await folder.run(last);
    assert.match(english.stdout, `account ${accounts[0]}, R$ 1234.56`);
    assert.match(english.stdout, `more than 1,000 deliveries wait for ${URLS[0]}`);
    for (const told of [
      await folder.run([...last, '--lang', 'pt']),
      await folder.run(last, { LANG: 'pt_BR.UTF-8' }),
      await folder.run(last, { LC_ALL: 'pt_BR', LANG: 'en_US.UTF-8' }),
    ]) {
      assert.match(told.stdout, `conta ${accounts[0]}, R$ 1.234,56`);
      assert.match(told.stdout, `mais de 1.000 entregas esperam por ${URLS[0]}`);
      assert.match(told.stdout, 'próximo passo: pergunte a quem recebe');
    }
    assert.is((await folder.run([...last, '--lang', 'en'], { LANG: 'pt_BR.UTF-8' })).stdout, english.stdout);
    assert.is((await folder.run(last, { LC_ALL: 'C', LANG: 'pt_BR' })).stdout, english.stdout);
    await folder.fails([...last, '--lang', 'de'], 2, 'VALIDATION_ERROR');
    // Programs get codes, and English whoever asks.
    const page = JSON.parse(
      (await folder.run([...last, '--lang', 'pt', '--json'], { LANG: 'pt_BR' })).stdout,
    );
    const { account, ...kept } = page.items[0];
    assert.is(account, accounts[0]);
    assert.equal(kept, coded);
    // What has no code is told as it was stored.
    const former = await folder.run(['attention', '--limit', '1', '--lang', 'pt']);
    assert.match(former.stdout, / {2}w\n {2}próximo passo: n\n\ne mais 12: --after m0 mostra/);
  } finally {
    await folder.withCore(({ store }) => store.attention.withdraw([coded]));
  }
});

test('the list is read in pages and says how many items lie behind', async () => {
  const all = await folder.json(['attention']);
  assert.equal([ids(all), at(all, 'more')], [from(0, 12), 0]);
  const first = list(all, 'items')[1] ?? null;
  assert.equal([text(first, 'account'), whole(first, 'amount')], [accounts[1], 1]);
  assert.equal([at(all, 'items.2.account'), whole(all, 'items.2.amount')], [null, 2]);
  const page = await folder.json(['attention', '--limit', '5']);
  assert.equal([ids(page), at(page, 'more')], [from(0, 5), 7]);
  const next = await folder.json(['attention', '--limit', '5', '--after', 'm4']);
  assert.equal([ids(next), at(next, 'more')], [from(5, 10), 2]);
  const kind = await folder.json(['attention', '--kind', 'hanging', '--limit', '2', '--after', 'm4']);
  assert.equal([ids(kind), at(kind, 'more')], [['m5', 'm7'], 2]);
  const own = await folder.json(['attention', '--account', accounts[0] ?? '']);
  assert.equal(ids(own), ['m0', 'm3', 'm6', 'm9']);
  const shown = await folder.run(['attention', '--limit', '5']);
  assert.match(shown.stdout, /and 7 more: --after m4 shows them/);
  await folder.fails(['attention', '--after', 'nothing'], 1, 'ITEM_NOT_FOUND');
  for (const wrong of [
    ['--limit', '0'],
    ['--limit', '10001'],
    ['--kind', 'odd'],
  ])
    await folder.fails(['attention', ...wrong], 2, 'VALIDATION_ERROR');
});

test('many items are done with at once: by ids, kind, account, URL or time', async () => {
  assert.equal(await folder.json(['attention', 'done', 'm0']), { done: 'm0' });
  assert.equal(await folder.json(['attention', 'done', 'm1', 'm2']), { done: ['m1', 'm2'] });
  await folder.fails(['attention', 'done', 'm3', 'nothing'], 1, 'ITEM_NOT_FOUND');
  assert.equal(ids(await folder.json(['attention'])), from(3, 12));
  // All options that are given must fit.
  const fits = ['--kind', 'hanging', '--account', accounts[0] ?? '', '--url', URLS[1] ?? ''];
  assert.equal(await folder.json(['attention', 'done', ...fits, '--since', iso(4)]), { done: ['m9'] });
  assert.equal(await folder.json(['attention', 'done', 'm4', '--kind', 'unknown']), { done: ['m4'] });
  assert.equal(await folder.json(['attention', 'done', '--url', URLS[1] ?? '', '--since', iso(6)]), {
    done: ['m7', 'm11'],
  });
  assert.equal(ids(await folder.json(['attention'])), ['m3', 'm5', 'm6', 'm8', 'm10']);
  assert.equal(await folder.json(['attention', 'done', '--since', iso(11)]), { done: [] });
  await folder.fails(['attention', 'done'], 2, 'INVALID_REQUEST');
  await folder.fails(['attention', 'done', '--since', 'yesterday'], 2, 'VALIDATION_ERROR');
  for (const ofTheList of [
    ['--limit', '1'],
    ['--after', 'm5'],
    ['--lang', 'en'],
  ])
    await folder.fails(['attention', 'done', '--kind', 'unknown', ...ofTheList], 2, 'VALIDATION_ERROR');
});

test('what comes again under its id says so in words', async () => {
  const done = async (...args: string[]) => (await folder.run(['attention', 'done', ...args])).stdout;
  const again = 'done before under this id: what has come on the list since stays\n';
  assert.is(await done('m3', '--id', 'one'), 'done: m3\n');
  assert.is(await done('m3', '--id', 'one'), again);
  assert.equal(await folder.json(['attention', 'done', 'm3', '--id', 'one']), { done: 'm3' });
  assert.is(await done('--since', iso(12), '--id', 'none'), 'nothing on the list fits\n');
  assert.is(await done('--since', iso(12), '--id', 'none'), again);
  assert.equal(ids(await folder.json(['attention'])), [...from(0, 3), ...from(4, 12)]);
});

/** Puts a dead delivery to each URL in the place of what was still to be sent. */
async function dieAt(transaction: string, attemptedAt: string): Promise<string[]> {
  const shown = list(await folder.json(['inspect', transaction]), 'deliveries').reverse();
  const dead = shown.map((delivery): DeliveryRecord => {
    const attempt = { at: attemptedAt, statusCode: 500, error: null, durationMs: 1 };
    const [account = ''] = accounts;
    const parts = { status: 'dead' as const, failures: 5, nextAttemptAt: null, deliveredAt: null };
    return { id: text(delivery, 'id'), account, transaction, attempts: [attempt], ...parts };
  });
  await folder.withCore(({ store }) =>
    store.due.settle(
      dead.map((record) => {
        const note = { kind: 'dead', id: record.id, what: 'x', next: 'y' } as const;
        return { claim: null, next: null, record, attention: itemOf(note, attemptedAt) };
      }),
    ),
  );
  return dead.map(({ id }) => id);
}

test('many deliveries are tried again at once: by ids, account, URL or time', async () => {
  const [account = ''] = accounts;
  await folder.json([
    'account',
    'set',
    account,
    '--webhook-url',
    URLS[0] ?? '',
    '--webhook-url',
    URLS[1] ?? '',
  ]);
  const charges = [await folder.charge(account), await folder.charge(account), await folder.charge(account)];
  const dead: string[][] = [];
  for (const [nth, charge] of charges.entries()) dead.push(await dieAt(charge, iso(nth)));
  const [[a1 = '', a2 = ''] = [], [b1 = '', b2 = ''] = [], [c1 = '', c2 = ''] = []] = dead;
  const retried = async (...args: string[]): Promise<string[]> =>
    list(await folder.json(['deliveries', 'retry', ...args]), 'retried').map((id) => text(id));
  const listed = async (...args: string[]) => {
    const page = await folder.json(['deliveries', 'list', ...args]);
    return { ids: list(page, 'deliveries').map((each) => text(each, 'id')), after: at(page, 'after') };
  };
  const page = await listed('--limit', '4');
  const rest = await listed('--after', String(page.after), '--status', 'dead');
  assert.equal([page.ids.length, rest.after], [4, null]);
  assert.equal([...page.ids, ...rest.ids].sort(), dead.flat().sort(), 'each once');
  assert.equal(await listed('--url', URLS[1] ?? '', '--since', iso(2)), { ids: [c2], after: null });
  assert.equal(await listed('--status', 'rejected'), { ids: [], after: null });
  for (const wrong of [
    ['--limit', '201'],
    ['--status', 'delivered'],
    ['--since', 'now'],
    ['--after', ''],
    ['--after', 'junk'],
  ])
    await folder.fails(['deliveries', 'list', ...wrong], 2, 'VALIDATION_ERROR');
  await folder.fails(['deliveries', 'retry', a1, charges[1] ?? '', `${b1}z`], 1, 'DELIVERY_NOT_FOUND');
  assert.equal(
    ids(await folder.json(['attention', '--kind', 'dead'])).sort(),
    dead.flat().sort(),
    'nothing was changed',
  );
  assert.equal(await retried('--url', URLS[1] ?? '', '--since', iso(2)), [c2]);
  assert.equal(await retried(charges[1] ?? '', '--url', URLS[0] ?? ''), [b1]);
  assert.equal((await retried(a2, b2)).sort(), [a2, b2].sort());
  assert.equal(ids(await folder.json(['attention', '--kind', 'dead'])), [a1, c1]);
  assert.equal((await retried('--account', account)).sort(), [a1, c1].sort());
  assert.equal(await retried('--account', account), []);
  assert.equal(ids(await folder.json(['attention', '--kind', 'dead'])), []);
  await folder.fails(['deliveries', 'retry'], 2, 'INVALID_REQUEST');
  await folder.fails(['deliveries', 'retry', '--since', 'now'], 2, 'VALIDATION_ERROR');
});

test('control characters of what the bank wrote are shown as JSON writes them, and end no line', async () => {
  const id = 'a\u001b[31mRED\u0007\nb\u009b';
  const content = '{"transactionId":"no\u001b[2Jsuch\n"}';
  const data = { message: 'X\u001b[2J', messageId: id, transactionId: 'no\u001b[2Jsuch', content };
  const odd = itemFor('TRANSACTION_UNKNOWN', { id, since: iso(60), about: { account: null }, data });
  await folder.withCore(({ store }) => store.attention.note([odd]));
  try {
    const { stdout } = await folder.run(['attention', '--after', 'm11']);
    assert.not.match(stdout, /[^\P{Cc}\n]/u);
    const [head = '', what = '', next = '', ...others] = stdout.trimEnd().split('\n');
    assert.ok(head.endsWith(String.raw`  a\u001b[31mRED\u0007\nb\u009b`), head);
    assert.match(what, String.raw`no\u001b[2Jsuch`);
    assert.match(next, /^ {2}next: /);
    assert.equal(others, []);
    const page = await folder.json(['attention', '--after', 'm11']);
    assert.equal(ids(page), [id]);
    const missing = await folder.run(['attention', 'done', 'no\u001b[2Jsuch']);
    assert.is(missing.code, 1);
    assert.match(missing.stderr, String.raw`no\u001b[2Jsuch`);
    const { stdout: done } = await folder.run(['attention', 'done', id]);
    assert.is(done, `${String.raw`done: a\u001b[31mRED\u0007\nb\u009b`}\n`);
  } finally {
    await folder.withCore(({ store }) => store.attention.withdraw([odd]));
  }
});

test.run();
