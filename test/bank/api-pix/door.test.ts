/** The door for callbacks, over real TLS: who may enter, what is taken, and what is answered. */
import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Door } from '../../../src/bank/api-pix/callbacks/door.ts';
import { readCallback } from '../../../src/bank/api-pix/callbacks/hints.ts';
import type { Hint } from '../../../src/bank/api-pix/profile.ts';
import { efi } from '../../../src/bank/api-pix/profiles/efi.ts';
import { inter } from '../../../src/bank/api-pix/profiles/inter.ts';
import { standard } from '../../../src/bank/api-pix/profiles/standard.ts';
import type { CallbackDoor } from '../../../src/bank/api-pix/settings.ts';
import { within } from '../../../src/waiting.ts';
import { Certificates, type Pair } from '../../support/bank/certificates.ts';
import { until } from '../../support/wait.ts';

const test = suite('the door for callbacks');
const certificates = new Certificates();
let authority: Pair;
let ours: Pair;
let banks: Pair;
let taken: Hint[][];
let troubles: unknown[];
let storeIsAway: boolean;
/** Null: nothing is held; otherwise who waits until it is taken. */
let held: { isAwaited: () => boolean; goOn: () => void }[] | null;
let doors: Door[];

test.before(() => {
  authority = certificates.authority('bank-callbacks');
  ours = certificates.certificate('localhost', { authority: certificates.authority('public') });
  banks = certificates.certificate('pix.bank.example', { authority });
});
test.after(() => certificates.remove());
test.before.each(() => {
  [taken, troubles, storeIsAway, doors, held] = [[], [], false, [], null];
});
test.after.each(async () => {
  for (const door of doors) await door.close();
});

const PLAIN: CallbackDoor = { port: 0, host: '127.0.0.1', path: '/s3cret/pix', tls: null, names: null };

async function open(over: Partial<CallbackDoor> = {}): Promise<number> {
  const door = new Door({
    door: { ...PLAIN, tls: { cert: ours.cert, key: ours.key, ca: authority.cert }, ...over },
    profile: efi,
    take: async (hints, isAwaited) => {
      if (storeIsAway) throw new Error('the store is away');
      if (held !== null) await new Promise<void>((goOn) => void held?.push({ isAwaited, goOn }));
      taken.push(...hints);
    },
    onTrouble: (error) => void troubles.push(error),
  });
  doors.push(door);
  return door.open();
}

interface Post {
  path?: string;
  body?: string;
  method?: string;
  /** Null: without TLS. */
  client?: Pair | 'none' | null;
}

/** The answer's status; 0 where the connection brought none. */
function post(
  port: number,
  { path = '/s3cret/pix/pix', body = '{}', method = 'POST', client = banks }: Post = {},
) {
  return new Promise<number>((resolve) => {
    const own = client === null || client === 'none' ? {} : { cert: client.cert, key: client.key };
    const target = { host: '127.0.0.1', port, path, method, agent: false } as const;
    const sent =
      client === null
        ? plainRequest(target)
        : tlsRequest({ ...target, ...own, rejectUnauthorized: false, servername: 'localhost' });
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

const PAID = { endToEndId: 'E'.repeat(32), txid: '7978c0c97ea847e78e8849634473c1f1', valor: '1.00' };

test('what a callback is about is taken before it is answered', async () => {
  const port = await open();
  const sent = { tipo: 'SOLICITACAO', status: 'REALIZADO', gnExtras: { idEnvio: 'abc' } };
  const returned = { ...PAID, devolucoes: [{ id: 'ours1', status: 'DEVOLVIDO' }, { id: '../x' }] };
  const body = JSON.stringify({ pix: [returned, sent, { valor: '1.00' }] });
  assert.is(await post(port, { body }), 200);
  assert.equal(taken, [
    [
      { kind: 'charge', txid: PAID.txid },
      { kind: 'payment', endToEndId: PAID.endToEndId },
      { kind: 'return', id: 'ours1' },
    ],
    [{ kind: 'sending', id: 'abc' }],
  ]);
});

test('one slash or two, a query, Efí’s test of the URL itself', async () => {
  const port = await open();
  for (const path of [
    '/s3cret/pix/pix',
    '/s3cret/pix//pix',
    '/s3cret/pix/pix?hmac=1',
    '/s3cret/pix?ignorar=/pix',
  ])
    assert.is(await post(port, { path, body: JSON.stringify({ pix: [PAID] }) }), 200, path);
  assert.is(taken.length, 4);
  assert.is(await post(port, { path: '/s3cret/pix', body: '{"evento":"teste_webhook"}' }), 200);
  assert.is(taken.length, 4);
});

test('another path, another method, what is no callback', async () => {
  const port = await open();
  for (const path of ['/', '/pix', '/s3cret', '/s3cret/pix/', '/s3cret/pix/pix/pix', '/s3cret/pix///pix'])
    assert.is(await post(port, { path }), 404, path);
  assert.is(await post(port, { method: 'GET', body: '' }), 405);
  for (const body of ['', '[]', 'pix', '{"pix":']) assert.is(await post(port, { body }), 400, body);
  assert.is(taken.length, 0);
});

test('1 MiB and 500 elements are taken within a second, more is not', async () => {
  const port = await open();
  const elements = (count: number) => ({
    pix: Array.from({ length: count }, () => ({ ...PAID, x: 'x'.repeat(1_900) })),
  });
  const body = JSON.stringify(elements(500));
  const times: number[] = [];
  // The best of three: the machine does other things as well.
  for (let round = 0; round < 3; round++) {
    const begun = performance.now();
    assert.is(await post(port, { body }), 200);
    times.push(performance.now() - begun);
  }
  assert.ok(Math.min(...times) < 1_000, `${times} ms`);
  assert.is(taken.length, 1_500);
  assert.is(await post(port, { body: JSON.stringify({ pix: Array(501).fill(PAID) }) }), 400);
  const long = await post(port, { body: `{"x":"${'x'.repeat(1024 * 1024)}"}` });
  assert.ok([413, 0].includes(long), `${long}`);
  assert.is(taken.length, 1_500);
});

test('while the store is away the bank is told to come again', async () => {
  const port = await open();
  storeIsAway = true;
  assert.is(await post(port, { body: JSON.stringify({ pix: [PAID] }) }), 503);
  assert.is(troubles.length, 1);
  storeIsAway = false;
  assert.is(await post(port, { body: JSON.stringify({ pix: [PAID] }) }), 200);
  assert.is(taken.length, 1);
});

test('of more callbacks than are taken at once the bank is told to come again, at once', async () => {
  const port = await open({ tls: null });
  const body = JSON.stringify({ pix: [PAID] });
  held = [];
  const first = Array.from({ length: 64 }, () => post(port, { client: null, body }));
  await until(() => held?.length === 64, 10_000, 'all are under way');
  assert.is(await post(port, { client: null, body }), 503);
  assert.is(troubles.length, 1);
  // Nobody waits for them any more: they count until they have ended.
  assert.equal([...new Set(await Promise.all(first))], [503]);
  assert.ok(held.every(({ isAwaited }) => !isAwaited()));
  assert.is(await post(port, { client: null, body }), 503);
  for (const { goOn } of held.splice(0)) goOn();
  held = null;
  assert.is(await post(port, { client: null, body }), 200);
});

test('a callback whose sender has left is awaited by nobody', async () => {
  const port = await open({ tls: null });
  held = [];
  const body = JSON.stringify({ pix: [PAID] });
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST /s3cret/pix HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await until(() => held?.length === 1, 10_000, 'it is under way');
  const [one] = held;
  assert.is(one?.isAwaited(), true);
  socket.destroy();
  await until(() => one?.isAwaited() === false, 10_000, 'it has left');
  one?.goOn();
});

test('a handshake that doesn’t go on is cut off, and so is a request; of many connections some are turned away', async () => {
  const port = await open();
  const begun = performance.now();
  const silent = Array.from({ length: 600 }, () => connect(port, '127.0.0.1'));
  const gone = silent.map((socket) => {
    socket.on('error', () => undefined);
    return once(socket, 'close').then(() => performance.now() - begun);
  });
  const times = await Promise.all(gone);
  assert.ok(Math.min(...times) < 2_500, `the first after ${Math.min(...times)} ms`);
  assert.ok(Math.max(...times) < 8_000, `${Math.max(...times)} ms`);
  const plain = await open({ tls: null });
  const half = connect(plain, '127.0.0.1');
  half.on('error', () => undefined).resume();
  half.write('POST /s3cret/pix HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{');
  const from = performance.now();
  await once(half, 'close');
  assert.ok(performance.now() - from < 16_000, `${performance.now() - from} ms`);
});

test('without a certificate of the bank’s nothing is read', async () => {
  const port = await open();
  const stranger = certificates.certificate('stranger', { authority: certificates.authority('forger') });
  const body = JSON.stringify({ pix: [PAID] });
  for (const client of ['none', stranger, null] as const) assert.is(await post(port, { body, client }), 0);
  assert.is(taken.length, 0);
});

test('another certificate of the bank’s authority, by its name: 403', async () => {
  const port = await open({ names: ['pix.bank.example'] });
  const customer = certificates.certificate('customer', { authority });
  const body = JSON.stringify({ pix: [PAID] });
  assert.is(await post(port, { body, client: customer }), 403);
  assert.is(taken.length, 0);
  assert.is(await post(port, { body }), 200);
});

test('behind a proxy that checks certificates it is plain', async () => {
  const port = await open({ tls: null });
  assert.is(await post(port, { client: null, body: JSON.stringify({ pix: [PAID] }) }), 200);
  assert.is(taken.length, 1);
});

test('it ends though somebody has connected and says nothing', async () => {
  for (const tls of [true, false]) {
    const port = await open(tls ? {} : { tls: null });
    const silent = connect(port, '127.0.0.1');
    silent.on('error', () => undefined);
    const gone = once(silent, 'close');
    await once(silent, 'connect');
    // The door has it once it has answered somebody who came later.
    await post(port, tls ? {} : { client: null });
    const [door] = doors.splice(0);
    if (door === undefined) throw new Error('no door is open');
    await within(20_000, door.close(), () => new Error(`the door doesn’t close, with TLS: ${tls}`));
    await gone;
  }
});

test('of an element’s returns a hundred are looked up', () => {
  const devolucoes = Array.from({ length: 24_000 }, (_, nth) => ({ id: `r${nth}` }));
  const [hints = []] = readCallback(JSON.stringify({ pix: [{ devolucoes }] }), standard) ?? [];
  assert.is(hints.length, 100);
});

test('each profile knows its own hints, and the standard’s', () => {
  const sent = { gnExtras: { idEnvio: 'abc' }, txid: PAID.txid };
  const kinds = (profile: typeof standard) =>
    readCallback(JSON.stringify({ pix: [sent] }), profile)?.map((each) => each.map(({ kind }) => kind));
  assert.equal(kinds(standard), [['charge']]);
  assert.equal(kinds(inter), [['charge']]);
  assert.equal(kinds(efi), [['sending', 'charge']]);
});

test.run();
