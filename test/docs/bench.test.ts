/** The bench's own arithmetic, and what it says where it can't do what is asked of it; its rows need a quiet machine. */
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { backlogOf, countAt } from '../../scripts/bench/held.ts';
import { countsOf } from '../../scripts/bench/instructions.ts';
import { lifecycles } from '../../scripts/bench/lifecycle.ts';
import { refusedOf, spreadOf, summaries } from '../../scripts/bench/line.ts';
import { optionsOf, UsageError } from '../../scripts/bench/options.ts';
import { drainText } from '../../scripts/bench/rows/backlog.ts';
import { type Receiver, startReceiver } from '../../scripts/bench/server.ts';
import {
  COUNT_DIGITS,
  creations,
  type RequestText,
  SERIES_DIGITS,
  sqlTransfers,
} from '../../scripts/bench/texts.ts';
import { missingForSql } from '../../scripts/bench/tools.ts';
import { isInMemory } from '../../scripts/bench/usage.ts';
import { endWithin, type Outcome, spawnNode } from '../support/process.ts';

const test = suite('docs/bench');

const empty = mkdtempSync(join(tmpdir(), 'pixstate-bench-test-'));
/** What a build is known by. */
const build = mkdtempSync(join(tmpdir(), 'pixstate-bench-test-'));
mkdirSync(join(build, 'dist/src'), { recursive: true });
writeFileSync(join(build, 'package.json'), '{}');
writeFileSync(join(build, 'dist/src/main.js'), '');
test.after(() => {
  for (const folder of [empty, build]) rmSync(folder, { recursive: true });
});

const START_MS = 60_000;

function bench(args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  return endWithin(spawnNode(['--import', 'tsx', 'scripts/bench.ts', ...args], env), START_MS);
}

test('a command line that can not be followed ends with 2 and says why', async () => {
  const { code, stdout, stderr } = await bench(['--rows', 'creates,craetes']);
  assert.is(code, 2);
  assert.is(stdout, '');
  assert.match(stderr, /"craetes" is none of creates, /);
});

test('mistakes in options are found', () => {
  const wrong: [string[], RegExp][] = [
    [['--nothing'], /--nothing/],
    [['--runs', '0'], /--runs must be a whole number above 0/],
    [['--seconds', '1.5'], /--seconds must be a whole/],
    [['--clients', 'many'], /--clients/],
    [['--sql', '--mongodb'], /two runs/],
    [['--sql', '--rows', 'reads'], /creates/],
    [['--phases', 'none'], /--phases: "none"/],
    [['--against', empty], /there is no build in .*: no package\.json/],
    [['--against', '.', '--rows', 'reads'], /creates, lifecycles/],
    [['--against', '.', '--sql'], /without --sql/],
    [['--against', '.', '--json'], /without --json/],
    [['--against', '.', '--starts', '0'], /--starts must be a whole number above 0/],
  ];
  for (const [args, message] of wrong) {
    assert.throws(
      () => optionsOf(args),
      (error: Error) => error instanceof UsageError && message.test(error.message),
      args.join(' '),
    );
  }
});

test('options have their defaults, and rows an order of their own', () => {
  const { sql, runs, rows } = optionsOf([]);
  assert.equal(
    { sql, runs, rows },
    { sql: false, runs: 1, rows: ['creates', 'reads', 'lifecycles', 'verify'] },
  );
  assert.equal(optionsOf(['--rows', 'many,creates']).rows, ['creates', 'many']);
  assert.equal(optionsOf(['--rows', 'all']).rows.length, 7);
  assert.equal(optionsOf(['--against', build]).rows, ['creates', 'lifecycles']);
  assert.equal(optionsOf(['--against', build, '--rows', 'lifecycles']).rows, ['lifecycles']);
});

test('a run with PostgreSQL names what it lacks in one line, and ends with 2', async () => {
  const { code, stdout, stderr } = await bench(['--sql'], { PATH: empty });
  assert.is(code, 2);
  assert.is(stdout, '');
  assert.match(stderr, /^--sql needs wrk( and PostgreSQL)?: scripts\/bench\/sql-setup\.sh .*\n$/);
  const { PATH = '' } = process.env;
  process.env.PATH = empty;
  const missing = missingForSql(empty);
  process.env.PATH = PATH;
  assert.match(missing ?? '', /^--sql needs wrk and PostgreSQL: /);
});

/** A request as a generator sends it. */
function sent([before, after]: RequestText): { head: string; body: string } {
  const number = '7'.repeat(SERIES_DIGITS + COUNT_DIGITS);
  const [head = '', body = ''] = (after === undefined ? before : `${before}${number}${after}`).split(
    '\r\n\r\n',
  );
  return { head, body };
}

test('requests are as long as they say, and their bodies are JSON', () => {
  const texts = [
    ...creations('pix-in', ['a:b', 'c:d'], 1000),
    ...creations('cashout', ['a:b'], 1007),
    ...sqlTransfers(['a0', 'hot']),
  ];
  assert.is(texts.length, 5);
  for (const text of texts) {
    const { head, body } = sent(text);
    assert.is(Number(/^Content-Length: (\d+)\r?$/m.exec(head)?.[1]), body.length, head);
    assert.type(JSON.parse(body).amount, 'number');
    assert.ok(`${head}${body}`.includes('7'.repeat(SERIES_DIGITS + COUNT_DIGITS)));
  }
});

test('runs become medians and spreads', () => {
  assert.equal(spreadOf([3, 1, 2]), { median: 2, least: 1, most: 3, runs: [3, 1, 2] });
  assert.is(spreadOf([4, 1]).median, 2.5);
  const run = (rate: number) => [{ name: 'a row', figures: { 'rate/s': rate }, notes: ['a note'] }];
  const [row] = summaries([run(10), run(30), run(20)]);
  assert.is(row?.figures['rate/s']?.median, 20);
  assert.equal(row?.notes, ['a note']);
});

/** Counts that rise by so many a second, looked at four times a second for ten seconds. */
function rising(rate: number, from = 0) {
  return Array.from({ length: 41 }, (_, n) => ({ at: 5_000 + n * 250, count: from + (rate * n) / 4 }));
}

test('a backlog grows where less is finished than created', () => {
  const late = rising(1000, -300);
  assert.is(countAt(rising(1000), 5_100), 100);
  const held = backlogOf(rising(1000), late);
  assert.equal(held, { grew: false, first: 300, last: 300, rate: 1000 });
  const tooMuch = backlogOf(rising(1000), rising(900));
  assert.is(tooMuch.grew, true);
  assert.is(tooMuch.last, 1000);
  assert.is(Math.round(tooMuch.rate), 900);
  assert.is(backlogOf(rising(1000), rising(990)).grew, false);
  assert.throws(() => backlogOf([], []), /too short/);
});

async function deliver({ url }: Receiver, event: string): Promise<void> {
  const answer = await fetch(url, { method: 'POST', headers: { 'Idempotency-Key': event }, body: '{}' });
  assert.is(answer.status, 200);
}

test('an event that is delivered twice stands for no other one', async () => {
  const receiver = await startReceiver();
  for (const event of ['evt_1', 'evt_2', 'evt_1', 'evt_1']) await deliver(receiver, event);
  const { count, again } = await receiver.seen();
  await receiver.stop();
  assert.equal({ count, again }, { count: 2, again: 2 });
});

/** Answers every fourth creation 500, and tells an event of each all the same; the port, and what closes it. */
async function startFailing(receiver: Receiver): Promise<{ port: number; close: () => void }> {
  let count = 0;
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.end('{}');
      return;
    }
    count += 1;
    const event = `evt_${count}`;
    response.statusCode = count % 4 === 0 ? 500 : 201;
    request.resume().once('end', () => void deliver(receiver, event).then(() => response.end('{}')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

test('lifecycles whose creation was refused are not part of the rate, and are told', async () => {
  const receiver = await startReceiver();
  const { port, close } = await startFailing(receiver);
  const order = {
    ports: [port],
    routing: 'account',
    clients: 2,
    requests: 40,
    amount: 1001,
    seed: 1,
  } as const;
  const { rate, created, events, seconds } = await lifecycles(
    { ...order, kind: 'pix-in', credentials: ['a:b'] },
    1,
    receiver,
  );
  close();
  await receiver.stop();
  assert.is(refusedOf(created.statuses), 10);
  assert.is(Math.round(created.rate * created.seconds), 30);
  assert.is(events.wanted, 30);
  assert.is(Math.round(rate * seconds), 30);
});

test('a backlog that drained before the end of its row is told', () => {
  const row = { from: 10_000, seconds: 10 };
  const still = drainText(500, { atStart: 400, atEnd: 3, lastAt: 20_000 }, row);
  assert.is(still, 'of 500 deliveries 400 were left before the warm-up, 3 after the row');
  assert.match(
    drainText(500, { atStart: 400, atEnd: 0, lastAt: 12_500 }, row),
    /FIRST 2\.5 OF ITS 10 s ONLY/,
  );
  assert.match(drainText(500, { atStart: 400, atEnd: 0, lastAt: 9_000 }, row), /FIRST 0\.0 OF ITS 10 s ONLY/);
});

test('a folder in memory is told from one on a disk', () => {
  assert.is(isInMemory(process.cwd()), false);
  if (existsSync('/dev/shm')) assert.is(isInMemory('/dev/shm'), true);
});

test("perf's lines are summed by thread", () => {
  const csv = [
    '# started on Sun Nov 22 11:43:36 2026',
    '',
    'node-3770,1000,,instructions:u,5,100.00,,',
    'node-3772,20,,instructions:u,5,100.00,,',
    'V8 Worker-3773,3,,instructions:u,5,100.00,,',
    'node-3774,<not counted>,,instructions:u,0,100.00,,',
    'node-3775,4,,instructions:u,5,100.00,,',
  ];
  assert.equal(countsOf(csv.join('\n'), 3770), { main: 1000, node: 24, 'V8 Worker': 3 });
});

test.run();
