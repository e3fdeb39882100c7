/** What the log is told of items that need a person and of requests that failed, however many there are. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text as told } from 'node:stream/consumers';
import { pino } from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ApiError, unavailable } from '../../src/api/errors.ts';
import { BankHeldBack, BankOutcomeUnknown, BankRefused } from '../../src/engine/bank.ts';
import { StoreUnavailable, StoreUnusable } from '../../src/engine/store.ts';
import { attentionLog, failureLog, troubleLog } from '../../src/server/telling.ts';
import { pack, unpack } from '../../src/server/threads/errors.ts';
import { pause } from '../../src/waiting.ts';
import { at, type JsonObject, object, parseJson, text } from '../support/json.ts';
import { packageRoot } from '../support/process.ts';

const test = suite('what the log is told');
const OVER_MS = 1_300;

function logged() {
  const lines: JsonObject[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(object(parseJson(String(chunk)) ?? null));
      done();
    },
  });
  return { lines, log: pino({ base: null }, stream) };
}

test('each item is told; of thousands the first ones, the last, and how many there were between', async () => {
  const { lines, log } = logged();
  const counted: string[] = [];
  const note = attentionLog(log, (kind) => counted.push(kind));
  for (const id of ['a', 'b']) note({ kind: 'unknown', id, what: 'x' });
  for (let each = 1; each <= 1_000; each++) note({ kind: 'refused', id: `r${each}`, what: 'x' });
  for (let each = 1; each <= 50; each++) note({ kind: 'stuck', id: `s${each}`, what: 'ALARM' });
  assert.is(counted.length, 1_052);
  await pause(OVER_MS);
  const of = (kind: string) => lines.filter((line) => line.kind === kind);
  assert.equal(
    of('unknown').map(({ id, level }) => [id, level]),
    [
      ['a', 40],
      ['b', 40],
    ],
  );
  const refused = of('refused');
  assert.is(refused.at(-1)?.id, 'r1000');
  assert.is(
    refused.reduce((sum, { more }) => sum + 1 + Number(more), 0),
    1_000,
  );
  assert.ok(refused.length < 30);
  assert.is(of('stuck').length, 50);
  note({ kind: 'refused', id: 'later', what: 'x' });
  assert.is(of('refused').at(-1)?.id, 'later');
});

test('what is refused for now is counted, whichever thread answered, and is no failure', async () => {
  const { lines, log } = logged();
  const failed = failureLog(log);
  const elsewhere = (error: Error): Error => unpack(pack(error));
  const ending = unavailable('The service is shutting down.');
  for (const error of [new StoreUnavailable('away'), ending, elsewhere(ending), elsewhere(ending)])
    failed(error, 'r', '/v1/pix-in');
  failed(elsewhere(new ApiError('TIMEOUT', 'late')), 'slow', '/v1/pix-in');
  failed(elsewhere(new TypeError('ours')), 'bug', '/v1/pix-in');
  await pause(OVER_MS);
  assert.equal(
    lines.map(({ level, msg, refused, requestId }) => [level, msg, refused ?? requestId]),
    [
      [40, 'requests are refused', 1],
      [40, 'a request took too long', 'slow'],
      [50, 'a request failed', 'bug'],
      [40, 'requests are refused', 3],
    ],
  );
});

test('requests that the bank refuses or that take too long are told, of thousands as many as of items', async () => {
  const { lines, log } = logged();
  const failed = failureLog(log);
  for (let each = 1; each <= 1_000; each++) failed(new BankRefused('no such key'), `r${each}`, '/v1/pix-in');
  for (let each = 1; each <= 500; each++) failed(new ApiError('TIMEOUT', 'late'), `t${each}`, '/v1/cashout');
  for (let each = 1; each <= 50; each++) failed(new TypeError('ours'), `b${each}`, '/v1/pix-in');
  await pause(OVER_MS);
  for (const [message, level, last, count] of [
    ['the bank refused a request', 30, 'r1000', 1_000],
    ['a request took too long', 40, 't500', 500],
  ] as const) {
    const told = lines.filter(({ msg }) => msg === message);
    assert.ok(told.length < 30, message);
    assert.ok(told.every((line) => line.level === level));
    assert.is(told.at(-1)?.requestId, last);
    assert.is(
      told.reduce((sum, { more }) => sum + 1 + Number(more), 0),
      count,
    );
  }
  const [first] = lines;
  assert.equal([first?.requestId, first?.path, first?.reason], ['r1', '/v1/pix-in', 'no such key']);
  assert.is(lines.filter(({ msg }) => msg === 'a request failed').length, 50);
});

test('orders that wait for a bank that is away are counted, without stacks, and hide no other trouble', async () => {
  const { lines, log } = logged();
  const trouble = troubleLog(log);
  const away = new BankHeldBack('the bank is known to be away');
  for (let each = 1; each <= 1_000; each++) trouble(away, { due: { transaction: `t${each}` } });
  trouble(new TypeError('ours'), { due: { transaction: 'bug' } });
  for (let each = 1; each <= 300; each++) trouble(new BankOutcomeUnknown('no answer'));
  assert.ok(lines.length < 30);
  await pause(OVER_MS);
  assert.ok(lines.every(({ level, msg }) => level === 40 && msg === 'will be tried again'));
  const held = lines.filter(({ reason }) => reason === away.message);
  assert.equal(
    held.map((line) => [at(line, 'due.transaction'), line.more, line.err]),
    [
      ['t1', 0, undefined],
      ['t1000', 998, undefined],
    ],
  );
  const others = lines.filter(({ err }) => err !== undefined);
  const [first = null] = others;
  assert.is(text(first, 'due.transaction'), 'bug');
  assert.match(text(first, 'err.stack'), 'TypeError: ours');
  assert.is(
    others.reduce((sum, { more }) => sum + 1 + Number(more), 0),
    301,
  );
  assert.ok(others.length < 30);
});

test('what fails once is told beside a hundred of another kind', async () => {
  const { lines, log } = logged();
  const trouble = troubleLog(log);
  for (let each = 1; each <= 100; each++) trouble(new BankOutcomeUnknown('no answer'));
  trouble(new StoreUnusable('the right to write deliveries is lacking'));
  for (let each = 1; each <= 100; each++) trouble(new BankOutcomeUnknown('no answer'));
  await pause(OVER_MS);
  assert.is(lines.filter((line) => text(line, 'err.message').includes('is lacking')).length, 1);
  assert.ok(lines.length < 30);
});

test('what is held back is told at the end of the process', async () => {
  const program = join(packageRoot, 'test', 'server', 'telling-process.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, '45'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines = (await told(child.stderr)).trimEnd().split('\n');
  const each = lines.map((line) => object(parseJson(line) ?? null));
  const items = each.filter(({ kind }) => kind === 'refused');
  const troubles = each.filter(({ err }) => err !== undefined);
  assert.equal([items.at(-1)?.id, troubles.at(-1)?.nth], ['r45', 45]);
  for (const of of [items, troubles])
    assert.is(
      of.reduce((sum, { more }) => sum + 1 + Number(more), 0),
      45,
    );
});

test.run();
