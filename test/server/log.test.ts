/** The server's log where nobody reads it, where its reader comes late, and where it is a file. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { build } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../support/process.ts';

const test = suite('the log of a server');

const TOO_MANY = 5_000;
const PATIENCE_MS = 60_000;

/**
 * The process that logs, as one file: tsx's own process would share its stderr, and may have whoever writes there wait
 * for the reader.
 */
const program = join(packageRoot, '.build', `log-process-${process.pid}.mjs`);

test.before(async () => {
  const from = join(packageRoot, 'test', 'server', 'log-process.ts');
  const how = { bundle: true, platform: 'node', format: 'esm', packages: 'external' } as const;
  await build({ entryPoints: [from], outfile: program, ...how });
});
test.after(() => rm(program));

function started(count: number, then: 'end' | 'stay', stderr: 'pipe' | number = 'pipe'): ChildProcess {
  return spawn(process.execPath, [program, String(count), then], {
    stdio: ['pipe', 'pipe', stderr],
    timeout: PATIENCE_MS,
    killSignal: 'SIGKILL',
  });
}

function linesOf(log: string): { nth?: number; msg: string; lines?: number }[] {
  return log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('a reader that stops stops nobody; once it reads again it is told how many lines are lost', async () => {
  const child = started(TOO_MANY, 'stay');
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('no pipes');
  const [said] = await once(stdout, 'data');
  assert.is(String(said), 'through\n');
  const log = text(stderr);
  // What waits is written without a further line.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  stdin.end();
  const [code] = await once(child, 'exit');
  assert.is(code, 0);
  const lines = linesOf(await log);
  const written = lines.filter(({ nth }) => nth !== undefined);
  assert.equal(
    written.map(({ nth }) => nth),
    written.map((_, index) => index + 1),
  );
  assert.ok(written.length > 1_000, `${written.length} lines waited`);
  const [told, last] = lines.slice(-2);
  assert.is(told?.msg, 'the log could not be written: lines are lost');
  assert.is(told?.lines, TOO_MANY - written.length);
  assert.is(last?.msg, 'the last one');
});

test('a process whose log nobody reads ends all the same', async () => {
  const child = started(TOO_MANY, 'end');
  const [code] = await once(child, 'exit');
  assert.is(code, 3);
  child.stderr?.resume();
});

test('a process that ends tells a reader that comes late how many lines are lost', async () => {
  const { stdout, stderr } = started(TOO_MANY, 'end');
  if (stdout === null || stderr === null) throw new Error('no pipes');
  await once(stdout, 'data');
  const lines = linesOf(await text(stderr));
  const told = lines.pop();
  assert.is(told?.msg, 'the log could not be written: lines are lost');
  assert.is(told?.lines, TOO_MANY - lines.length);
  assert.ok(lines.length > 900, `${lines.length} lines waited`);
});

test('a process that ends loses nothing of a log that is read', async () => {
  const child = started(300, 'end');
  if (child.stderr === null) throw new Error('no pipe');
  const lines = linesOf(await text(child.stderr));
  assert.is(lines.length, 300);
});

test('nor of one that is a file', async () => {
  const path = join(tmpdir(), `pixstate-log-${process.pid}`);
  const file = openSync(path, 'w');
  try {
    const child = started(TOO_MANY, 'end', file);
    await once(child, 'exit');
    assert.is(linesOf(await readFile(path, 'utf8')).length, TOO_MANY);
  } finally {
    closeSync(file);
    await rm(path);
  }
});

/** What a stream gives until that is enough; it can be read on. */
async function readUntil(stream: Readable, isEnough: (text: string) => boolean): Promise<string> {
  let read = '';
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    read += String(chunk);
    if (isEnough(read)) break;
  }
  return read;
}

test('a reader that is started anew gets what waited, and is told what is lost', async () => {
  const fifo = join(tmpdir(), `pixstate-log-fifo-${process.pid}`);
  execFileSync('mkfifo', [fifo]);
  const read = () => spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'], timeout: PATIENCE_MS });
  try {
    const first = read();
    const onFifo = ['-c', `exec "$0" "$@" 2>'${fifo}'`, process.execPath, program, '10', 'stay'];
    const child = spawn('sh', onFifo, { stdio: ['pipe', 'pipe', 'inherit'], timeout: PATIENCE_MS });
    await once(child.stdout, 'data');
    // What it hasn't read by then would go with it.
    const before = await readUntil(first.stdout, (log) => log.split('\n').length > 10);
    first.kill();
    assert.is(linesOf(before).length, 10);
    child.stdin.write(`${TOO_MANY}\n`);
    await once(child.stdout, 'data');
    const { stdout } = read();
    const later = await readUntil(stdout, (log) => log.includes('lines are lost') && log.endsWith('\n'));
    child.stdin.end();
    const lines = linesOf(later + (await text(stdout)));
    const written = lines.filter(({ nth }) => nth !== undefined);
    assert.equal(
      written.map(({ nth }) => nth),
      written.map((_, index) => 11 + index),
    );
    assert.ok(written.length > 900, `${written.length} lines waited`);
    assert.equal(
      lines.slice(-2).map(({ msg, lines: lost }) => [msg, lost]),
      [
        ['the log could not be written: lines are lost', TOO_MANY - written.length],
        ['the last one', undefined],
      ],
    );
  } finally {
    await rm(fifo);
  }
});

test('a process whose reader has left for good ends at once', async () => {
  const child = started(TOO_MANY, 'stay');
  if (child.stdin === null || child.stdout === null) throw new Error('no pipes');
  await once(child.stdout, 'data');
  child.stderr?.destroy();
  child.stdin.end();
  const begun = Date.now();
  const [code] = await once(child, 'exit');
  assert.is(code, 0);
  assert.ok(Date.now() - begun < 400, `${Date.now() - begun} ms`);
});

test.run();
