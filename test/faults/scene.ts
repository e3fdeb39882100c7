/** What the tests of bad days share: servers, the look at a store afterwards, and a random number that repeats. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { fetchReply, type Reply } from '../support/client.ts';
import { at, type Json, type JsonObject, list, text } from '../support/json.ts';
import { type Env, type Spawned, spawnNode, spawnProgram, temporaryFolder } from '../support/process.ts';
import { type Server, type ServerOptions, startServer } from '../support/server.ts';
import { callbackSecret, sign } from '../support/signature.ts';
import { testServer } from '../support/store.ts';
import { until } from '../support/wait.ts';

/**
 * What a dead process had in hand goes on within 5 seconds of readiness; on MongoDB once its leases of 10 s have run
 * out, and what waits for an earlier delivery looks again within 4 s. The rest is for a busy machine.
 */
export const RESUMED_MS = testServer() === null ? 8_000 : 30_000;

/** A server for one test; its end and its folder's are seen to. */
export async function withServer(
  options: ServerOptions,
  body: (server: Server) => Promise<void>,
): Promise<void> {
  const server = await startServer(options);
  try {
    await body(server);
  } finally {
    await server.stop();
  }
}

/** A temporary folder for one test. */
export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder();
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Replays every journal and asks the charts again; nothing may differ. */
export async function expectVerified(target: Server | string): Promise<void> {
  const verified = await cliJson(target, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true, JSON.stringify(verified));
  assert.is(list(verified, 'differences').length, 0, JSON.stringify(verified));
}

/** The accounts that a store has. */
export async function accountsOf(target: Server | string): Promise<Json[]> {
  return list(await cliJson(target, ['account', 'list']), 'accounts');
}

/** What needs a person, of one kind. */
export async function attentionOf(target: Server | string, kind: string): Promise<Json[]> {
  const items = list(await cliJson(target, ['attention']), 'items');
  return items.filter((item) => text(item, 'kind') === kind);
}

/**
 * What a server may grow by in a short test: its heap is grown before it is collected, by a different amount on each
 * version of Node, and 160 MB were seen with nothing kept. What is kept of a flood or a queue is soon more than this.
 * Each HTTP thread has a heap of its own: up to 55 MB more were seen.
 */
export const MOST_MORE_BYTES = 300e6 + 100e6 * Number(process.env.TEST_HTTP_THREADS ?? 1);

/** The resident memory of a process in bytes; null where the system doesn't tell (proc(5)). */
export function residentBytes(pid: number): number | null {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  } catch {
    return null;
  }
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Starts a process that holds the store's writer lock and is stopped by then. */
export async function frozenWriter(server: Server): Promise<Spawned> {
  const spawned = spawnNode(['--import', 'tsx', 'test/faults/frozen-writer.ts', server.dataDir], {});
  try {
    await until(() => spawned.stdout().includes('inside'), 15_000, 'a writer inside its transaction');
  } catch (error) {
    spawned.child.kill('SIGKILL');
    throw new Error(`${String(error)}: ${spawned.stderr()}`);
  }
  return spawned;
}

/** Starts `node args...` as somebody who is nobody's owner, where this process is root, who may write to everything. */
export function spawnAsNobody(args: string[], env: Env): Spawned {
  const others = process.getuid?.() === 0 ? ['setpriv', '--reuid', '65534', '--clear-groups'] : ['env'];
  const [program = '', ...rest] = [...others, process.execPath, ...args];
  return spawnProgram(program, rest, env);
}

/** Resolves with what `work` gives; rejects as soon as it has taken longer than `limitMs`. */
export async function inTime<Value>(limitMs: number, what: string, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Messages of a real bank, signed. `root` is the address above the base address. */
export function callBack(root: string, messages: readonly JsonObject[]): Promise<Reply> {
  const body = JSON.stringify(messages);
  const id = randomUUID();
  const timestamp = String(Math.floor(Date.now() / 1_000));
  return fetchReply('POST', `${root}/v1/bank/callbacks`, body, {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': sign(callbackSecret, id, timestamp, body),
  });
}
