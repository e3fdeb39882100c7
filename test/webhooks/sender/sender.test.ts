import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { senderLimits } from '../../../src/webhooks/sender/limits.ts';
import { openWebhookSender, type SenderOptions } from '../../../src/webhooks/sender/open.ts';
import { ThreadSender } from '../../../src/webhooks/sender/thread.ts';
import { item, localSender, Outbox, rawReceiver, receiver } from './receivers.ts';

const BASE = { allowPrivate: true, timeoutMs: 300 };
/** For what must not time out: a busy machine may stop for as long as the time above. */
const PATIENT_MS = 3_000;

for (const thread of [false, true]) {
  const test = suite(thread ? 'sender in a worker thread' : 'sender in the own thread');
  const open = (more: Partial<SenderOptions> = {}) =>
    new Outbox((thread ? openWebhookSender : localSender)({ ...BASE, ...more }));

  test('delivers, and tells of what failed', async () => {
    const to = await receiver((response, _seen, nth) => response.writeHead(nth === 2 ? 500 : 200).end());
    const outbox = open({ timeoutMs: PATIENT_MS });
    assert.is((await outbox.attempt(item('1', to.url))).statusCode, 200);
    assert.is((await outbox.attempt(item('2', to.url))).statusCode, 500);
    await outbox.sender.close();
    await to.close();
  });

  test('a receiver that hangs does not delay another', async () => {
    const hung = await rawReceiver(() => {});
    const quick = await receiver((response) => response.end());
    const outbox = open({ timeoutMs: 3_000 });
    const stuck = Array.from({ length: 100 }, (_, index) => item(`stuck${index}`, hung.url));
    outbox.sender.send([...stuck, item('warm', quick.url)]);
    await outbox.until((results) => results.length === 1);
    const begun = performance.now();
    outbox.sender.send(Array.from({ length: 200 }, (_, index) => item(`quick${index}`, quick.url)));
    await outbox.until((results) => results.length === 201);
    assert.ok(performance.now() - begun < 1_500);
    assert.ok(outbox.results.every(({ token }) => !token.startsWith('stuck')));
    await hung.close();
    await outbox.sender.close();
    await quick.close();
  });

  test('behind a timeout the rest is put off, and comes through after recovery', async () => {
    let silent = true;
    const to = await receiver((response) => {
      if (!silent) response.end();
    });
    const outbox = open();
    outbox.sender.send(Array.from({ length: 20 }, (_, index) => item(`t${index}`, to.url)));
    await outbox.until((results) => results.length === 20);
    const attempted = outbox.results.filter((result) => result.kind === 'attempted');
    assert.is(attempted.length, 4);
    assert.ok(attempted.every((result) => result.kind === 'attempted' && result.error === 'TIMEOUT'));
    outbox.sender.send([item('probe', to.url), item('behind', to.url)]);
    await outbox.until((results) => results.length === 22);
    const kinds = new Map(outbox.results.map(({ token, kind }) => [token, kind]));
    assert.is(kinds.get('probe'), 'attempted');
    assert.is(kinds.get('behind'), 'putOff');
    silent = false;
    outbox.results.length = 0;
    assert.is((await outbox.attempt(item('again', to.url))).statusCode, 200);
    outbox.sender.send(Array.from({ length: 20 }, (_, index) => item(`u${index}`, to.url)));
    await outbox.until((results) => results.length === 21);
    assert.ok(outbox.results.every((result) => result.kind === 'attempted' && result.statusCode === 200));
    await outbox.sender.close();
    await to.close();
  });

  test('accounts to one origin share a connection, which closes once none of them sends', async () => {
    const to = await receiver((response) => response.end());
    const outbox = open({ timeoutMs: PATIENT_MS, idleMs: 400 });
    const send = async (account: string, nth: number) =>
      (await outbox.attempt(item(`${account}:${nth}`, to.url, { account }))).statusCode;
    for (const account of ['acc_1', 'acc_2', 'acc_3']) assert.is(await send(account, 1), 200);
    // The first two go idle meanwhile, and are forgotten.
    for (let nth = 2; nth < 12; nth += 1) {
      assert.is(await send('acc_3', nth), 200);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.is(to.opened, 1);
    assert.is(to.open, 1);
    await until(() => to.open === 0);
    assert.is(await send('acc_1', 2), 200);
    assert.is(to.opened, 2);
    await outbox.sender.close();
    await to.close();
  });

  test('close reports what ends in time, drops what waits, and leaves nothing behind', async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = handles();
    const to = await receiver((response) => setTimeout(() => response.end(), 150));
    const outbox = open({ timeoutMs: 2_000 });
    outbox.sender.send(Array.from({ length: 10 }, (_, index) => item(`t${index}`, to.url)));
    await until(() => to.seen.length === 4);
    await outbox.sender.close();
    outbox.sender.send([item('late', to.url)]);
    assert.is(outbox.results.length, 4);
    await to.close();
    await until(() => handles() <= before);
    assert.is(to.seen.length, 4);
    assert.is(outbox.results.length, 4);
  });

  test('close cuts off what takes too long', async () => {
    const to = await rawReceiver(() => {});
    const outbox = open({ timeoutMs: 60_000, closeMs: 100 });
    outbox.sender.send([item('1', to.url)]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const begun = performance.now();
    await Promise.all([outbox.sender.close(), outbox.sender.close()]);
    assert.ok(performance.now() - begun < 700);
    assert.is(outbox.results.length, 0);
    await to.close();
  });

  test('close of an unused sender is quick', async () => {
    const begun = performance.now();
    await open().sender.close();
    assert.ok(performance.now() - begun < 3_000);
  });

  test.run();
}

const failing = suite('worker thread that dies');

failing('is replaced; what it held is put off, and the failure is told', async () => {
  const failures: string[] = [];
  const entry = new URL(`data:text/javascript,${encodeURIComponent(DYING)}`);
  const sender = new ThreadSender({
    allowPrivate: true,
    limits: senderLimits({}),
    onFailure: (error) => failures.push(error.message),
    entry,
  });
  const outbox = new Outbox(sender);
  sender.send([
    item('1', 'http://127.0.0.1/'),
    item('1', 'http://127.0.0.1/'),
    item('2', 'http://127.0.0.1/'),
  ]);
  await outbox.until((results) => results.length === 3);
  assert.ok(outbox.results.every((result) => result.kind === 'putOff'));
  assert.is(sender.inFlight, 0);
  await until(() => failures.length === 1);
  assert.equal(failures, ['out of luck']);
  sender.send([item('3', 'http://127.0.0.1/')]);
  await outbox.until((results) => results.length === 4);
  await sender.close();
});

failing.run();

/** Dies of the first message. */
const DYING = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (message) => {
    if (message === 'close') parentPort.close();
    else throw new Error('out of luck');
  });`;

function handles(): number {
  return process.getActiveResourcesInfo().filter((kind) => /TCP|TLS|MessagePort|Worker|Timeout/.test(kind))
    .length;
}

async function until(fits: () => boolean): Promise<void> {
  for (let turn = 0; turn < 300 && !fits(); turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(fits());
}
