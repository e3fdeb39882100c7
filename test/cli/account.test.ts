import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runOn } from '../../src/cli/running/others.ts';
import { Works } from '../../src/holder/works.ts';
import { but } from '../support/but.ts';
import { merchantOf } from '../support/client.ts';
import { expectInvalidFields } from '../support/expect.ts';
import { at, keys, list, parseJson, text, whole } from '../support/json.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { Folder } from './support.ts';

const test = suite('account commands');
const URL = 'http://127.0.0.1:9/hook';
let folder: Folder;

test.before(async () => {
  folder = await Folder.make();
});
test.after(() => folder.remove());

test('create shows the secrets once, for programs and for people', async () => {
  const created = await folder.json([
    'account',
    'create',
    '--webhook-url',
    `${URL},pix-in.*`,
    '--balance',
    '700',
  ]);
  assert.equal(keys(created), ['accountId', 'clientId', 'clientSecret', 'webhooks']);
  assert.equal(keys(created, 'webhooks.0'), ['secret', 'url']);
  const read = await folder.run(['account', 'create', '--name', 'Padaria']);
  assert.is(read.code, 0);
  assert.match(read.stdout, /client secret +sk_/);
  assert.match(read.stdout, /shown once/);
  const listed = await folder.run(['account', 'list']);
  assert.not.match(listed.stdout, /sk_|whsec_/);
  assert.match(listed.stdout, /Padaria/);
  const [first] = list(await folder.json(['account', 'list']), 'accounts').filter(
    (account) => text(account, 'accountId') === text(created, 'accountId'),
  );
  assert.is(whole(first ?? null, 'balance'), 700);
  assert.equal(at(first ?? null, 'webhooks'), [{ url: URL, events: ['pix-in.*'] }]);
});

test('create --count makes many, fast', async () => {
  const own = await Folder.make();
  const started = performance.now();
  const created = await own.json(['account', 'create', '--count', '2000', '--balance', '10']);
  assert.equal(keys(created), ['accounts']);
  assert.is(new Set(list(created, 'accounts').map((account) => text(account, 'clientId'))).size, 2_000);
  assert.ok(performance.now() - started < 20_000);
  assert.is(list(await own.json(['account', 'create', '--count', '1']), 'accounts').length, 1);
  const tooMany = await own.fails(['account', 'create', '--count', '10001'], 2, 'VALIDATION_ERROR');
  assert.match(text(tooMany, 'message'), '--count must be a whole number from 1 to 10000');
  assert.match((await own.run(['account', 'create', '--help'])).stdout, 'at most 10000');
  const verified = await own.json(['verify', '--decide']);
  assert.is(at(verified, 'ok'), true);
  assert.is(whole(verified, 'entries'), 2_000);
  await own.remove();
});

test('create --count that a server carries out lets its callers be heard in between', async () => {
  await folder.withCore(async (core) => {
    let [begun, most] = [0, 0];
    let isOver = false;
    const heard = (): void => {
      begun = 0;
      if (!isOver) setImmediate(heard);
    };
    setImmediate(heard);
    const accounts = but(core.accounts, {
      create: (...wanted) => {
        begun += 1;
        most = Math.max(most, begun);
        return core.accounts.create(...wanted);
      },
    });
    const out: string[] = [];
    const code = await runOn(
      { ...core, accounts },
      new Works(),
    )({
      ...{ args: ['account', 'create', '--count', '450', '--balance', '5'], user: 'ops', id: 'once' },
      ...{ json: true, isWatched: false, gone: new AbortController().signal },
      settings: { stuckAfterS: 1, allowPrivateWebhooks: true },
      out: (text) => out.push(text),
      err: () => {},
    });
    isOver = true;
    const made = list(parseJson(out.join('')) ?? null, 'accounts').map((each) => text(each, 'accountId'));
    assert.equal([code, new Set(made).size], [0, 450]);
    assert.ok(most <= 100, `${most} are begun in one turn`);
  });
});

test('create names everything that is wrong and makes nothing', async () => {
  const own = await Folder.make();
  const wrong = await own.fails(
    [
      ...[
        'account',
        'create',
        '--balance',
        '1.5',
        '--count',
        '10001',
        '--expires-in',
        '0',
        '--max-amount',
        '-1',
      ],
      ...['--fees', '{"pixIn":{"percent":1.5}}', '--pix-key', '123', '--allow-ip', '::ffff:1.2.3.4'],
      ...['--webhook-url', `${URL},pix-in.nope`, '--webhook-url', URL, '--name', 'a\nb'],
    ],
    2,
    'VALIDATION_ERROR',
  );
  const fields = new Set(list(wrong, 'details').map((detail) => text(detail, 'field')));
  assert.equal([...fields].sort(), [
    ...['--allow-ip', '--balance', '--count', '--expires-in', '--fees', '--max-amount'],
    ...['--name', '--pix-key', '--webhook-url'],
  ]);
  const eleven = Array.from({ length: 11 }, (_, n) => ['--webhook-url', `${URL}/${n}`]).flat();
  assert.match(
    text(await own.fails(['account', 'create', ...eleven], 2, 'VALIDATION_ERROR'), 'message'),
    /at most 10/,
  );
  const many = Array.from({ length: 101 }, (_, n) => ['--allow-ip', `10.0.0.${n}`]).flat();
  for (const command of [['create'], ['set', 'acc_none']])
    assert.match(
      text(await own.fails(['account', ...command, ...many], 2, 'VALIDATION_ERROR'), 'message'),
      '--allow-ip must be 1 to 100 IPv4 addresses or *, not 101',
    );
  // Where nothing was made there is nothing to list.
  await own.fails(['account', 'list'], 1, 'STORE_NOT_OPENED');
  await own.remove();
});

test('a private webhook address is refused where the configuration says so', async () => {
  const args = ['account', 'create', '--webhook-url', URL];
  const refused = await folder.json(args, 2, { ALLOW_PRIVATE_WEBHOOKS: 'false' });
  assert.match(text(refused, 'message'), /not public/);
});

test('set changes what it names; a URL that stays keeps its secret', async () => {
  const id = await folder.account('--webhook-url', `${URL}/kept`);
  const set = (...args: string[]) => folder.json(['account', 'set', id, ...args]);
  const changed = await set(
    '--status',
    'inactive',
    '--webhook-url',
    `${URL}/kept`,
    '--webhook-url',
    `${URL}/new,cashout.*`,
  );
  assert.is(text(changed, 'status'), 'inactive');
  assert.equal(keys(changed, 'webhooks.0'), ['events', 'url']);
  assert.match(text(changed, 'webhooks.1.secret'), /^whsec_/);
  assert.equal(at(await set('--allow-ip', '*', '--allow-ip', '10.0.0.1'), 'allowedIps'), ['*', '10.0.0.1']);
  await folder.fails(['account', 'set', id], 2, 'INVALID_REQUEST');
  await folder.fails(['account', 'set', id, '--status', 'asleep'], 2, 'VALIDATION_ERROR');
  await folder.fails(['account', 'set', id, '--balance', '1'], 2, 'INVALID_REQUEST');
  await folder.fails(['account', 'set', 'nobody', '--status', 'active'], 1, 'ACCOUNT_NOT_FOUND');
});

test('rotations give new secrets', async () => {
  const id = await folder.account('--webhook-url', URL);
  assert.equal(keys(await folder.json(['account', 'rotate-secret', id])), ['clientId', 'clientSecret']);
  assert.equal(keys(await folder.json(['account', 'rotate-webhook-secret', id, URL])), ['secret', 'url']);
  await folder.fails(['account', 'rotate-webhook-secret', id, `${URL}/other`], 1, 'WEBHOOK_NOT_FOUND');
  await folder.fails(['account', 'rotate-secret', 'nobody'], 1, 'ACCOUNT_NOT_FOUND');
});

test('adjust takes negative cents, once for an id, and never below zero unasked', async () => {
  const id = await folder.account('--balance', '1000');
  const adjust = (cents: string, ...more: string[]) => [
    'account',
    'adjust',
    id,
    cents,
    '--reason',
    'x',
    ...more,
  ];
  const once = adjust('-400', '--id', 'a');
  assert.equal(await folder.json(once), { accountId: id, balance: 600, applied: true });
  assert.equal(await folder.json(once), { accountId: id, balance: 600, applied: false });
  await folder.fails(adjust('-500', '--id', 'a'), 1, 'ADJUSTMENT_REFUSED');
  await folder.fails(adjust('-601'), 1, 'ADJUSTMENT_REFUSED');
  assert.is(whole(await folder.json(adjust('-601', '--allow-negative')), 'balance'), -1);
  for (const cents of ['0', '1.5', '1e3', 'x']) await folder.fails(adjust(cents), 2, 'VALIDATION_ERROR');
  await folder.fails(['account', 'adjust', id, '5'], 2, 'INVALID_REQUEST');
  await folder.fails(['account', 'adjust', 'nobody', '5', '--reason', 'x'], 1, 'ACCOUNT_NOT_FOUND');
});

test('the last URL and the largest amount of an account can be taken off', async () => {
  const own = await Folder.make();
  const made = await own.json(['account', 'create', '--webhook-url', URL, '--max-amount', '500']);
  const id = text(made, 'accountId');
  const set = (...args: string[]) => own.json(['account', 'set', id, ...args]);
  assert.equal(at(await set('--no-webhook-url'), 'webhooks'), []);
  assert.equal(keys(await set('--webhook-url', URL), 'webhooks.0'), ['events', 'secret', 'url']);
  const server = await startServer({ dataDir: own.path });
  try {
    const client = merchantOf(server, made);
    expectInvalidFields(await client.post('/pix-in', { amount: 501 }), ['amount']);
    await set('--no-max-amount');
    await until(
      async () => (await client.post('/pix-in', { amount: 501 })).status === 201,
      5_000,
      'the change',
    );
  } finally {
    await server.stop();
    await own.remove();
  }
});

test.run();
