/** Calls over real TLS: what became of them, tokens, the bank's limits, certificates. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BankConnection } from '../../../src/bank/api-pix/connection.ts';
import { Line } from '../../../src/bank/api-pix/wire/exchange.ts';
import { CallFailed } from '../../../src/bank/api-pix/wire/outcome.ts';
import { pause } from '../../../src/waiting.ts';
import { type Fault, OUR_KEY } from '../../support/bank/bank.ts';
import { rejectionOf } from '../../support/expect.ts';
import { until } from '../../support/wait.ts';
import { failsAs, Scene } from './scene.ts';

const test = suite('calls');
let scene: Scene;

test.before.each(async () => {
  scene = await Scene.make();
});
test.after.each(() => scene.end());

/** A transfer of money has the same outcomes as any call that isn't repeated. */
function give(): Promise<unknown> {
  const { bank, us } = scene;
  const { endToEndId } = bank.state.pay({ amount: '12.34', key: [...bank.options.keys][0] ?? '' });
  return us.payments.giveBack({ endToEndId, id: 'r1' }, 1234);
}

const PROBLEM =
  '{"type":"https://pix.bcb.gov.br/api/v2/error/PixDevolucaoInvalida","title":"x","status":400}';

const OUTCOMES: [string, Fault, 'unknown' | 'not-done' | 'refused'][] = [
  ['a connection cut before it is done', { kind: 'cut-before' }, 'unknown'],
  ['a connection cut after it is done', { kind: 'cut-after' }, 'unknown'],
  ['500', { kind: 'answer', status: 500, body: PROBLEM }, 'unknown'],
  ['503', { kind: 'answer', status: 503 }, 'unknown'],
  ['an answer that says it worked and is HTML', { kind: 'answer', status: 201, body: '<html>' }, 'unknown'],
  ['409', { kind: 'answer', status: 409, body: '{"nome":"id_duplicado"}' }, 'unknown'],
  ['a redirect', { kind: 'answer', status: 302 }, 'unknown'],
  ['403', { kind: 'answer', status: 403, body: PROBLEM }, 'not-done'],
  ['400 in the bank’s words', { kind: 'answer', status: 400, body: PROBLEM }, 'refused'],
  ['422 in Efí’s words', { kind: 'answer', status: 422, body: '{"nome":"pagamento_negado"}' }, 'refused'],
  ['400 of a gateway', { kind: 'answer', status: 400, body: '<html>bad request</html>' }, 'not-done'],
  ['404 of a gateway', { kind: 'answer', status: 404, body: '{"message":"no Route"}' }, 'not-done'],
  ['405', { kind: 'answer', status: 405, body: PROBLEM }, 'not-done'],
];

for (const [what, fault, kind] of OUTCOMES) {
  test(`${what}: ${kind}`, async () => {
    scene.bank.fault('PUT devolucao', fault);
    const { concern } = await failsAs(kind, give());
    assert.is(scene.bank.calls('PUT devolucao').length, 1, 'it is not repeated');
    const expected = kind !== 'not-done' ? null : what === '403' ? 'scope' : 'path';
    assert.is(concern, expected);
  });
}

test('a bank that nobody reaches has surely not done it', async () => {
  await scene.bank.away();
  const { isBanks } = await failsAs('not-done', give());
  assert.is(isBanks, true);
  await scene.again({ BANK_URL: 'https://nowhere.invalid/api', BANK_TOKEN_URL: 'https://nowhere.invalid/t' });
  await failsAs('not-done', give());
});

test('a bank that is away comes back, and so do its calls', async () => {
  await give();
  await scene.bank.away();
  await failsAs('not-done', give());
  await scene.bank.listen();
  await give();
  assert.is(scene.bank.state.payments.size, 3);
});

test('a call that hangs ends with its deadline, and nobody knows', async () => {
  scene.bank.fault('PATCH cob', { kind: 'hang' });
  const begun = performance.now();
  await failsAs('unknown', scene.us.charges.remove(randomUUID(), 300));
  assert.ok(performance.now() - begun < 6_000);
});

test('a hundred calls are under way at once: what waits behind them was surely not done, and no charge waits', async () => {
  const { bank, us } = scene;
  const { endToEndId } = bank.state.pay({ amount: '12.34', key: [...bank.options.keys][0] ?? '', at: 1 });
  const list = async (): Promise<void> => {
    for await (const page of us.payments.list({ from: 2, to: 3 })) assert.equal(page, []);
  };
  bank.fault('LIST pix', { kind: 'held' }, 200);
  const all = Array.from({ length: 200 }, list);
  for (let round = 0; round < 2; round++) {
    await until(() => bank.held === 100, 20_000, 'a hundred calls at the bank');
    const { message } = await failsAs('not-done', us.payments.giveBack({ endToEndId, id: 'r1' }, 1234));
    assert.match(message, /not answered within/);
    assert.is(await us.charges.ask(randomUUID()), null);
    bank.release();
  }
  await Promise.all(all);
  assert.is(bank.calls('LIST pix').length, 200);
  assert.is(bank.calls('PUT devolucao').length, 0);
});

/** The bank with ten connections: a hundred would keep a busy machine from answering in time. */
function withTen(): BankConnection {
  const { identity, ca, ...settings } = scene.settings();
  const openWire = (origin: string): Line => new Line({ origin, identity, ca, atOnce: 10 });
  return new BankConnection({ ...settings, openWire }, { now: Date.now });
}

test('what waits behind our own calls is no failure of a bank that answers each', async () => {
  const us = withTen();
  scene.bank.fault('GET cob', { kind: 'slow', ms: 1_000 }, 100);
  let wasOpen = false;
  const watch = setInterval(() => {
    wasOpen ||= us.client.breaker.isOpen;
  }, 5);
  const failures: CallFailed[] = [];
  const ask = (): Promise<unknown> =>
    us.charges.ask(randomUUID()).catch((error: CallFailed) => void failures.push(error));
  await Promise.all(Array.from({ length: 70 }, ask));
  clearInterval(watch);
  assert.ok(failures.length > 20, `${failures.length} had no time left`);
  assert.equal(
    failures.filter(({ isBanks }) => isBanks).map(({ message }) => message),
    [],
  );
  assert.ok(failures.some(({ kind }) => kind === 'not-done'));
  assert.not.ok(wasOpen || us.client.breaker.isOpen);
  await us.close();
});

test('nor is what had its turn only when a limit had taken most of its time', async () => {
  const { bank, us } = scene;
  bank.fault('PATCH cob', { kind: 'answer', status: 429, headers: { 'retry-after': '1' } }, 5);
  bank.fault('PATCH cob', { kind: 'slow', ms: 2_000 }, 5);
  const calls = Array.from({ length: 5 }, () => failsAs('unknown', us.charges.remove(randomUUID(), 1_600)));
  for (const { isBanks, message } of await Promise.all(calls)) assert.not.ok(isBanks, message);
  assert.is(bank.calls('PATCH cob').length, 10);
  assert.not.ok(us.client.breaker.isOpen);
});

test('a bank that answers none of a flood of calls is away all the same', async () => {
  const us = withTen();
  scene.bank.fault('GET cob', { kind: 'held' }, 100);
  const asked = Array.from({ length: 30 }, () => rejectionOf(CallFailed, us.charges.ask(randomUUID())));
  const failures = await Promise.all(asked);
  assert.is(failures.filter(({ isBanks }) => isBanks).length, 10);
  assert.ok(us.client.breaker.isOpen);
  scene.bank.release();
  await us.close();
});

test('fifty parallel calls share one token, and one new one where it dies', async () => {
  const fifty = () => Promise.all(Array.from({ length: 50 }, () => scene.us.charges.ask(randomUUID())));
  assert.equal(new Set(await fifty()), new Set([null]));
  assert.is(scene.bank.tokensGiven, 1);
  scene.bank.killTokens();
  await fifty();
  assert.is(scene.bank.tokensGiven, 2);
  assert.ok(scene.bank.calls('GET cob').length <= 150);
});

test('a token is renewed before its end, and kept as long', async () => {
  scene.bank.tokenLifeS = 6;
  await give();
  await give();
  assert.is(scene.bank.tokensGiven, 1);
  const first = scene.us.client.tokens.current?.text;
  await new Promise((resolve) => setTimeout(resolve, 3_100));
  await give();
  await until(() => scene.us.client.tokens.current?.text !== first, 5_000, 'the newer one');
  assert.is(scene.bank.tokensGiven, 2);
  assert.is(scene.bank.calls('PUT devolucao').length, 3);
});

test('a token is used to its end while its renewal fails, takes long or is limited, and no storm asks for it', async () => {
  const { bank, us } = scene;
  bank.tokenLifeS = 12;
  await give();
  const { tokens } = us.client;
  const first = tokens.current;
  bank.fault('token', { kind: 'answer', status: 503 });
  bank.fault('token', { kind: 'answer', status: 429, headers: { 'retry-after': '2' } });
  bank.fault('token', { kind: 'held' });
  await pause(6_100);
  const giving = async (): Promise<void> => {
    while (bank.held === 0 || bank.calls('token').length < 4) {
      await give();
      await pause(5);
    }
    await give();
  };
  await giving();
  assert.is(tokens.current, first);
  assert.is(bank.calls('token').length, 4, 'the first, and three renewals');
  assert.not.ok(us.client.breaker.isOpen);
  bank.release();
  await until(() => tokens.current !== first, 5_000, 'the newer one');
  await give();
});

test('past its end no token is used', async () => {
  scene.bank.tokenLifeS = 2;
  await give();
  scene.bank.fault('token', { kind: 'answer', status: 503 }, 2);
  await pause(2_100);
  await failsAs('not-done', give());
  await failsAs('not-done', give());
  await give();
  assert.is(scene.bank.calls('PUT devolucao').length, 2);
});

test('a second 401 is the credentials’ fault, and not done', async () => {
  scene.bank.fault('PUT devolucao', { kind: 'answer', status: 401 }, 2);
  const { concern } = await failsAs('not-done', give());
  assert.is(concern, 'credentials');
  assert.is(scene.bank.calls('PUT devolucao').length, 2);
});

test('one kind of call that is always 401 costs the others no token', async () => {
  const { bank, us } = scene;
  await give();
  bank.fault('GET pix', { kind: 'answer', status: 401 }, 11);
  for (let call = 0; call < 10; call++) {
    const { concern } = await failsAs('not-done', us.payments.ask('E'.repeat(32)));
    assert.is(concern, 'credentials');
  }
  assert.is(bank.calls('GET pix').length, 11);
  assert.is(bank.tokensGiven, 2);
  bank.fault('token', { kind: 'answer', status: 429, headers: { 'retry-after': '60' } });
  await give();
  bank.clearFaults();
  await us.payments.ask('E'.repeat(32));
  // Once they are answered otherwise, a token that dies is a token's death again.
  bank.killTokens();
  await us.payments.ask('E'.repeat(32));
  assert.is(bank.tokensGiven, 3);
});

test('credentials that are refused, and no word of them in the error', async () => {
  const us = await scene.again({ BANK_CLIENT_SECRET: 'wrong-secret' });
  const { concern, message } = await failsAs('not-done', us.charges.ask(randomUUID()));
  assert.is(concern, 'credentials');
  assert.not.match(message, /wrong-secret|Client_Id/);
});

test('a token that can’t be read means that the call was not made', async () => {
  scene.bank.fault('token', { kind: 'answer', status: 200, body: '<html>' });
  await failsAs('not-done', give());
  scene.bank.fault('token', { kind: 'cut-after' });
  await failsAs('not-done', give());
  assert.is(scene.bank.calls('PUT devolucao').length, 0);
});

test('429 is waited out as long as the bank asks for, by all calls of its name', async () => {
  await give();
  const headers = { 'retry-after': '1' };
  scene.bank.fault('PUT devolucao', { kind: 'answer', status: 429, headers });
  const begun = performance.now();
  await Promise.all([give(), give().catch(() => {})]);
  assert.ok(performance.now() - begun >= 990);
});

test('an order that isn’t wanted any more once its wait is over isn’t sent, and is no failure of the bank', async () => {
  await give();
  const { endToEndId } = scene.bank.state.pay({ amount: '12.34', key: OUR_KEY });
  scene.bank.fault('PUT devolucao', { kind: 'answer', status: 429, headers: { 'retry-after': '1' } });
  const looks: boolean[] = [];
  const order = scene.us.payments.giveBack({ endToEndId, id: 'r1' }, 1234, null, async () => {
    looks.push(looks.length === 0);
    return looks.length === 1;
  });
  const { isUnwanted, isBanks } = await failsAs('not-done', order);
  assert.equal([isUnwanted, isBanks, looks], [true, false, [true, false]]);
  assert.is(scene.bank.calls('PUT devolucao').length, 2);
  assert.is(scene.bank.state.payments.get(endToEndId)?.returns.length, 0);
});

test('a Retry-After that is longer than the call may take ends it at once', async () => {
  const at = new Date(Date.now() + 60_000).toUTCString();
  scene.bank.fault('PUT devolucao', { kind: 'answer', status: 429, headers: { 'retry-after': at } });
  const { retryAfterMs } = await failsAs('not-done', give());
  assert.ok((retryAfterMs ?? 0) > 50_000);
  await failsAs('not-done', give());
  assert.is(scene.bank.calls('PUT devolucao').length, 1, 'the bank is left alone');
  assert.is(await scene.us.charges.ask(randomUUID()), null);
});

test('a bank that asks for fewer requests for tokens is left alone, too, and calls tell for how long', async () => {
  const headers = { 'retry-after': '3600' };
  scene.bank.fault('token', { kind: 'answer', status: 429, headers });
  await failsAs('not-done', give());
  const { retryAfterMs } = await failsAs('not-done', give());
  assert.ok((retryAfterMs ?? 0) > 590_000, 'ten minutes at the most');
  assert.is(scene.bank.calls('token').length, 1);
  const [first] = scene.ended;
  assert.equal([first?.held?.by, (first?.held?.ms ?? 0) >= 600_000], ['limit', true]);
  assert.is(scene.bank.calls('PUT devolucao').length, 0);
});

test('a limit that the bank takes back is none any more', async () => {
  scene.bank.fault('PUT devolucao', { kind: 'answer', status: 429, headers: { 'retry-after': '1' } });
  await give();
  scene.bank.fault('PUT devolucao', { kind: 'answer', status: 400, body: PROBLEM });
  await failsAs('refused', give());
  assert.equal(
    scene.ended.map(({ held }) => held),
    [null, null],
  );
});

test('five failures that are the bank’s keep further calls away, until a probe succeeds', async () => {
  const us = await scene.again({ BANK_RETRY_SCALE: '0.2' });
  scene.bank.fault('GET cob', { kind: 'answer', status: 500 }, 5);
  for (let call = 0; call < 5; call++) await failsAs('unknown', us.charges.ask(randomUUID()));
  assert.is(us.client.breaker.isOpen, true);
  const { message } = await failsAs('not-done', us.charges.ask(randomUUID()));
  assert.match(message, /known to be away/);
  assert.is(scene.ended.at(-1)?.held?.by, 'away');
  assert.is(scene.bank.calls('GET cob').length, 5);
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  assert.is(await us.charges.ask(randomUUID()), null);
  assert.is(us.client.breaker.isOpen, false);
});

/** Five failures that are the bank's: it is held to be away. */
async function fallAway(us: BankConnection): Promise<void> {
  scene.bank.fault('GET pix', { kind: 'answer', status: 503 }, 5);
  for (let call = 0; call < 5; call++) await failsAs('unknown', us.payments.ask('E'.repeat(32)));
  assert.ok(us.client.breaker.isOpen);
}

test('a call that a limit forbids takes no probe’s place', async () => {
  const us = await scene.again({ BANK_RETRY_SCALE: '0.03' });
  const headers = { 'retry-after': '60' };
  scene.bank.fault('PATCH cob', { kind: 'answer', status: 429, headers });
  await failsAs('not-done', us.charges.remove(randomUUID()));
  await fallAway(us);
  await pause(350);
  for (let call = 0; call < 3; call++) {
    const { retryAfterMs, isHeld } = await failsAs('not-done', us.charges.remove(randomUUID()));
    assert.ok(isHeld && (retryAfterMs ?? 0) > 50_000);
  }
  assert.is(await us.charges.ask(randomUUID()), null);
  assert.not.ok(us.client.breaker.isOpen);
});

test('nor does one that waits for a token while the bank wants to be asked for none', async () => {
  const us = await scene.again({ BANK_RETRY_SCALE: '0.1' });
  await fallAway(us);
  const { tokens } = us.client;
  if (tokens.current !== null) tokens.drop(tokens.current);
  tokens.quiet.begin(2_000);
  await pause(1_500);
  assert.match((await failsAs('not-done', us.charges.ask(randomUUID()))).message, /asks not to be asked/);
  await pause(tokens.quiet.leftMs + 10);
  assert.is(await us.charges.ask(randomUUID()), null);
  assert.not.ok(us.client.breaker.isOpen);
});

test('calls that hang beside others that are answered don’t keep those away', async () => {
  const { bank, us } = scene;
  bank.fault('PATCH cob', { kind: 'hang' }, 10);
  const hanging = (): Promise<unknown>[] =>
    Array.from({ length: 5 }, () => failsAs('unknown', us.charges.remove(randomUUID(), 1_000)));
  const beside = hanging();
  assert.is(await us.charges.ask(randomUUID()), null);
  await Promise.all(beside);
  assert.is(us.client.breaker.isOpen, false);
  await Promise.all(hanging());
  assert.is(us.client.breaker.isOpen, true);
});

test('HTML in place of JSON is the bank’s failure, too', async () => {
  scene.bank.fault('GET cob', { kind: 'answer', status: 200, body: '<html>' }, 5);
  for (let call = 0; call < 5; call++) await failsAs('unknown', scene.us.charges.ask(randomUUID()));
  assert.is(scene.us.client.breaker.isOpen, true);
});

test('one failed request for a token counts once, however many callers it has', async () => {
  scene.bank.fault('token', { kind: 'answer', status: 500 });
  const fifty = Array.from({ length: 50 }, () => failsAs('not-done', scene.us.charges.ask(randomUUID())));
  await Promise.all(fifty);
  assert.is(scene.bank.calls('token').length, 1);
  assert.is(scene.us.client.breaker.isOpen, false);
});

test('nor does one that takes longer than its callers wait', async () => {
  const { bank, us } = scene;
  bank.fault('token', { kind: 'slow', ms: 1_500 });
  const six = Array.from({ length: 6 }, () => failsAs('not-done', us.charges.remove(randomUUID(), 300)));
  for (const { message } of await Promise.all(six)) assert.match(message, /no token came in time/);
  assert.not.ok(us.client.breaker.isOpen);
  assert.is(await us.charges.ask(randomUUID()), null);
  assert.is(bank.calls('token').length, 1);
});

test('requests for tokens that fail when nobody waits any more show that the bank is away', async () => {
  const { bank, us } = scene;
  for (let request = 0; request < 5; request++) {
    bank.fault('token', { kind: 'held' });
    await failsAs('not-done', us.charges.remove(randomUUID(), 200));
    await until(() => bank.held === 1, 5_000, 'a request for a token');
    assert.not.ok(us.client.breaker.isOpen);
    await bank.away();
    bank.release();
    await bank.listen();
    await pause(100);
  }
  await until(() => us.client.breaker.isOpen, 5_000, 'the breaker');
});

test('what the bank refuses doesn’t open the breaker', async () => {
  scene.bank.fault('PUT devolucao', { kind: 'answer', status: 400, body: PROBLEM }, 8);
  for (let call = 0; call < 8; call++) await failsAs('refused', give());
  assert.is(scene.us.client.breaker.isOpen, false);
});

test('a certificate of another authority is refused, and nothing is done', async () => {
  const other = scene.bank.certificates.certificate('stranger', {
    authority: scene.bank.certificates.authority('another-authority'),
  });
  const us = await scene.again({ BANK_CERT_FILE: other.certFile, BANK_KEY_FILE: other.keyFile });
  await failsAs('not-done', us.charges.ask(randomUUID()));
  assert.is(scene.bank.seen.length, 0);
});

test('a certificate that has expired is refused, and nothing is done', async () => {
  const options = { authority: scene.bank.authority, days: 0 };
  const expired = scene.bank.certificates.certificate('expired', options);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const us = await scene.again({ BANK_CERT_FILE: expired.certFile, BANK_KEY_FILE: expired.keyFile });
  await failsAs('not-done', us.charges.ask(randomUUID()));
  assert.is(scene.bank.seen.length, 0);
});

test('a bank whose certificate nobody vouches for is not spoken to', async () => {
  const us = await scene.again({ BANK_CA_FILE: '' });
  await failsAs('not-done', us.charges.ask(randomUUID()));
  assert.is(scene.bank.seen.length, 0);
});

test('what calls did is told without keys or ids', async () => {
  await give();
  await scene.us.charges.ask(randomUUID());
  scene.bank.fault('GET cob', { kind: 'answer', status: 500 });
  await failsAs('unknown', scene.us.charges.ask(randomUUID()));
  const told = scene.ended.map(({ call, outcome, status }) => ({ call, outcome, status }));
  assert.equal(told, [
    { call: 'PUT devolucao', outcome: 'ok', status: null },
    { call: 'GET cob', outcome: 'not-found', status: null },
    { call: 'GET cob', outcome: 'unknown', status: 500 },
  ]);
  assert.ok(scene.ended.every(({ ms }) => ms >= 0));
});

test.run();
