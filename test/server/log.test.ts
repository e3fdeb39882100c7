/** The server's log where nobody reads it, where its reader comes late, and where it is a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test.run();
