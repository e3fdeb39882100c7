/** Who of ops did what, and why: every command that acts leaves it in the journals of the accounts that it touches. */
import { userInfo } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Core } from '../../src/core.ts';
import type { By } from '../../src/domain/messages.ts';
import { type Entry, ZERO_HASH } from '../../src/engine/journal.ts';
import type { DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import { itemOf } from '../../src/engine/store.ts';
import { list, text } from '../support/json.ts';
import { Folder } from './support.ts';

const test = suite('who acts');
const URLS = ['http://127.0.0.1:9/one', 'http://127.0.0.1:9/two'];
const ANA = ['--by', 'Ana', '--reason', 'the receiver is back'];
const BY: By = { name: 'Ana', reason: 'the receiver is back', role: 'operator' };
const SYSTEM: By = { name: userInfo().username, reason: null, role: 'operator' };

let folder: Folder;
let account = '';
let other = '';
/** Its settings stay as they are. */
let third = '';

test.before(async () => {
  folder = await Folder.make();
  const hooks = URLS.flatMap((url) => ['--webhook-url', url]);
  account = await folder.account('--balance', '100000', ...hooks, ...ANA);
  other = await folder.account(...hooks);
  third = await folder.account(...hooks);
});
test.after(() => folder.remove());

/** The entries of an account that came through the door of ops, in order. */
function entriesOf(id: string): Promise<Entry[]> {
  return folder.withCore(async ({ store }) =>
    (await store.journal.batchesFrom(id, 1, 1_000))
      .flatMap(({ entries }) => entries)
      .filter(({ message }) => message.door === 'ops'),
  );
}

/** What acts of ops an account has, without the entries before a number of them. */
async function acts(id: string, after = 0): Promise<[By | undefined, unknown][]> {
  const entries = (await entriesOf(id)).filter(({ message }) => message.type === 'OPS');
  return entries.slice(after).map(({ message }) => [message.by, message.data]);
}

test('a new account says itself who made it, and its journal has no act', async () => {
  const made = await folder.withCore(({ store }) =>
    Promise.all([account, other].map(store.accounts.get, store.accounts)),
  );
  assert.equal(
    made.map((each) => each?.createdBy),
    [BY, SYSTEM],
  );
  const [opening] = await entriesOf(account);
  assert.equal([opening?.message.type, opening?.message.by], ['ADJUST', BY]);
  assert.is(await folder.withCore(async ({ store }) => (await store.journal.head(other)).hash), ZERO_HASH);
});

test('messages and adjustments name who sent them', async () => {
  const id = await folder.charge(account);
  await folder.json(['send', id, 'PAY', ...ANA]);
  await folder.json(['send', id, 'PROTEST']);
  await folder.fails(['send', id, 'PAY', '--by', 'Eva'], 1, 'MESSAGE_NOT_ACCEPTED');
  await folder.json(['account', 'adjust', account, '5', '--reason', 'a fee', '--by', 'Ana']);
  const shown = await folder.json(['inspect', id]);
  const eva = { ...SYSTEM, name: 'Eva' };
  assert.equal(
    list(shown, 'entries').map((entry) => (entry as { by: unknown }).by),
    [null, BY, SYSTEM, eva],
  );
  const read = (await folder.run(['inspect', id])).stdout;
  assert.match(read, /by Ana \(operator\): the receiver is back\n/);
  assert.match(read, /by Eva \(operator\)\n/);
  const last = (await entriesOf(account)).at(-1)?.message;
  assert.equal([last?.type, last?.by], ['ADJUST', { ...BY, reason: 'a fee' }]);
});

test('who acts must be named in words', async () => {
  const id = await folder.charge(other);
  for (const wrong of [
    ['--by', ''],
    ['--by', 'x'.repeat(141)],
    ['--reason', 'a\u0007'],
    ['--reason', 'x'.repeat(501)],
  ])
    await folder.fails(['send', id, 'PAY', ...wrong], 2, 'VALIDATION_ERROR');
  assert.equal(await entriesOf(other), []);
});

test('changed settings and rotated secrets are entries, without the secrets', async () => {
  const before = (await acts(other)).length;
  const set = [
    'account',
    'set',
    other,
    '--max-amount',
    '500',
    '--webhook-url',
    `${URLS[0]},pix-in.paid`,
    ...ANA,
  ];
  await folder.json(set);
  const pair = await folder.json(['account', 'rotate-secret', other]);
  const hook = await folder.json(['account', 'rotate-webhook-secret', other, URLS[0] ?? '', ...ANA]);
  await folder.fails(
    ['account', 'rotate-webhook-secret', other, 'http://127.0.0.1:9/no'],
    1,
    'WEBHOOK_NOT_FOUND',
  );
  const changes = { maxAmount: 500, webhooks: [{ url: URLS[0], events: ['pix-in.paid'] }] };
  const found = await acts(other, before);
  const ids = (await entriesOf(other)).slice(-3).map(({ message }) => message.id);
  assert.equal(found, [
    [BY, { action: 'settings', data: changes }],
    [SYSTEM, { action: 'rotate', data: { secret: 'client', after: ids[0] } }],
    [BY, { action: 'rotate', data: { secret: 'webhook', url: URLS[0], after: ids[1] } }],
  ]);
  const written = JSON.stringify(found);
  for (const secret of [text(pair, 'clientSecret'), text(hook, 'secret')]) assert.not.match(written, secret);
});

test('what comes again under one id is done once', async () => {
  const settings = () => folder.withCore(async ({ store }) => store.accounts.get(other));
  const set = (cents: string) => ['account', 'set', other, '--max-amount', cents, '--id', 'twice'];
  await folder.json(set('700'));
  await folder.json(['account', 'set', other, '--max-amount', '800']);
  const [before, entries] = [await settings(), await entriesOf(other)];
  await folder.json(set('700'));
  assert.equal([await settings(), await entriesOf(other)], [before, entries]);
  await folder.fails(set('900'), 1, 'ID_REUSED');
  await folder.json(['account', 'rotate-secret', other, '--id', 'turn']);
  const rotated = await settings();
  await folder.fails(['account', 'rotate-secret', other, '--id', 'turn'], 1, 'DONE_BEFORE');
  await folder.fails(['account', 'rotate-secret', other, '--id', 'twice'], 1, 'ID_REUSED');
  assert.equal(await settings(), rotated);
});

/** Charges whose deliveries to all URLs are dead; the deliveries. */
async function dead(of: string, charges: number): Promise<string[]> {
  const ids: string[] = [];
  for (let nth = 0; nth < charges; nth++) ids.push(await folder.charge(of));
  return folder.withCore((core) => died(core, of, ids));
}

async function died({ store }: Core, of: string, ids: readonly string[]): Promise<string[]> {
  const deliveries: string[] = [];
  for (const transaction of ids) {
    const record = await store.journal.transaction(transaction);
    const at = new Date().toISOString();
    const attempt = { at, statusCode: 500, error: null, durationMs: 1 };
    const parts = { account: of, transaction, status: 'dead', failures: 5, attempts: [attempt] } as const;
    for (const id of Object.values(record?.lastDeliveries ?? {})) {
      const dead: DeliveryRecord = {
        ...parts,
        id,
        attempts: [attempt],
        nextAttemptAt: null,
        deliveredAt: null,
      };
      const attention = itemOf({ kind: 'dead', id, what: 'x', next: 'y' }, at);
      await store.due.settle([{ claim: null, next: null, record: dead, attention }]);
      deliveries.push(id);
    }
  }
  return deliveries;
}

test('deliveries that are tried again are named, in each account that they are of', async () => {
  const [mine, others] = [await dead(account, 1), await dead(third, 1)];
  const [before, beforeOther] = [(await acts(account)).length, (await acts(third)).length];
  const [first = ''] = mine;
  const retry = ['deliveries', 'retry', first, '--id', 'r-1', ...ANA];
  assert.equal(await folder.json(retry), { retried: [first] });
  const entries = await entriesOf(account);
  // The same act again has been done; another one finds nothing dead.
  assert.equal(await folder.json(retry), { retried: [] });
  await folder.fails(['deliveries', 'retry', first, '--id', 'r-2', ...ANA], 1, 'DELIVERY_NOT_DEAD');
  assert.equal(await entriesOf(account), entries);
  const since = '2026-01-05T12:00:00.000Z';
  const all = list(await folder.json(['deliveries', 'retry', '--since', since]), 'retried').map((id) =>
    text(id),
  );
  const rest = mine.filter((id) => id !== first);
  assert.equal(all.sort(), [...rest, ...others].sort());
  assert.equal(await acts(account, before), [
    [BY, { action: 'retry', data: { ids: [first], count: 1 } }],
    [SYSTEM, { action: 'retry', data: { since, ids: rest, count: 1 } }],
  ]);
  assert.equal(await acts(third, beforeOther), [
    [SYSTEM, { action: 'retry', data: { since, ids: others, count: others.length } }],
  ]);
  // What touches nothing leaves nothing.
  assert.equal(await folder.json(['deliveries', 'retry', '--since', since]), { retried: [] });
  assert.is((await acts(account)).length, before + 2);
});

test('of more than a hundred deliveries an entry says what was asked, and how many', async () => {
  const ids = await folder.withCore(async (core) => {
    const owner = await core.store.accounts.get(account);
    if (owner === null) throw new Error('no account');
    const nothing = {
      externalRef: null,
      description: null,
      additionalInfo: null,
      customer: null,
      expiresIn: null,
    };
    const charges: string[] = [];
    for (let nth = 0; nth < 101; nth++) {
      const answer = await core.payments.createCharge(owner, { amount: 100, metadata: {}, ...nothing }, {});
      if (answer.kind === 'applied') charges.push(answer.record.id);
    }
    return died(core, account, charges);
  });
  assert.is(ids.length, 202);
  const before = (await acts(account)).length;
  const [url = ''] = URLS;
  const answer = await folder.json(['deliveries', 'retry', '--url', url, '--account', account]);
  const retried = new Set(list(answer, 'retried').map((id) => text(id)));
  assert.is(retried.size, 101);
  assert.ok([...retried].every((id) => ids.includes(id)));
  assert.equal(await folder.json(['deliveries', 'retry', '--url', url]), { retried: [] }, 'no one is left');
  assert.equal(await acts(account, before), [[SYSTEM, { action: 'retry', data: { url, count: 101 } }]]);
});

test('items that somebody was done with: an entry where they belong to an account, else a note of their own', async () => {
  const since = '2026-01-05T12:00:00.000Z';
  const note = { what: 'w', next: 'n' };
  const items = [
    itemOf({ kind: 'hanging', id: 'h-1', ...note }, since, { account, url: URLS[0] ?? null }),
    itemOf({ kind: 'unknown', id: 'u-1', ...note }, since),
    // Of a former build, and of a transaction that isn't there.
    itemOf({ kind: 'refused', id: 'msg_1', ...note }, since),
  ];
  await folder.withCore(({ store }) => store.attention.note(items));
  const before = (await acts(account)).length;
  await folder.json(['attention', 'done', 'h-1', 'u-1', 'msg_1', ...ANA]);
  assert.equal(await acts(account, before), [[BY, { action: 'done', data: { ids: ['h-1'], count: 1 } }]]);
  const done = await folder.withCore(({ store }) => store.attention.doneBy('u-1'));
  const { at, ...by } = done ?? { at: '' };
  assert.equal([by, new Date(at).toISOString()], [BY, at]);
  const former = await folder.withCore(({ store }) => store.attention.doneBy('msg_1'));
  assert.equal(former, { at, ...BY });
  const again = await folder.fails(['attention', 'done', 'u-1'], 1, 'ITEM_NOT_FOUND');
  assert.match(text(again, 'message'), `; Ana was done with it at ${at}`);
  // A dead delivery's item of a former build doesn't say whose it is: its transaction does.
  const [delivery = ''] = await dead(third, 1);
  const beforeOther = (await acts(third)).length;
  await folder.json(['attention', 'done', '--kind', 'dead', '--account', third]);
  await folder.json(['attention', 'done', delivery]);
  assert.equal(await acts(third, beforeOther), [
    [SYSTEM, { action: 'done', data: { ids: [delivery], count: 1 } }],
  ]);
});

test('all of it is sound, and can be made again', async () => {
  const verified = await folder.json(['verify', '--decide']);
  assert.equal((verified as { differences: unknown }).differences, []);
  await folder.json(['rebuild']);
  assert.equal(((await folder.json(['verify'])) as { differences: unknown }).differences, []);
});

test.run();
