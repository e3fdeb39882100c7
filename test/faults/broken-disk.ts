/** A server whose disk fails it: what it must have kept, and what a start on a sound disk finds. */
import * as assert from 'uvu/assert';
import { fetchReply, type Merchant, merchant } from '../support/client.ts';
import { askTransfer, shown } from '../support/flows.ts';
import { type Json, text } from '../support/json.ts';
import { endWithin, type Outcome, type Spawned } from '../support/process.ts';
import type { Server, ServerOptions } from '../support/server.ts';
import { eachOf, until } from '../support/wait.ts';
import { expectVerified, withServer } from './scene.ts';

const BALANCE = 100_000_000;
/** So many are answered before anything goes wrong. */
const ENOUGH = 200;
/** A server that can't write must not go on for long. */
const STOPS_WITHIN_MS = 20_000;

async function isReady(server: Server): Promise<boolean> {
  return fetchReply('GET', `${server.root}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

interface Answered {
  created: Json;
  key: string;
}

/** Creates transfers until the server is gone; every 201 was promised. */
async function fill(
  client: Merchant,
  ended: Promise<Outcome>,
  enough: () => void,
): Promise<{ answered: Answered[]; asked: string[] }> {
  const answered: Answered[] = [];
  const asked: string[] = [];
  let running = true;
  const stopped = ended.then(() => {
    running = false;
  });
  const description = 'x'.repeat(140);
  const workers = Array.from({ length: 16 }, async (_, worker) => {
    for (let n = 0; running; n += 1) {
      const key = `${worker} ${n}`;
      asked.push(key);
      const reply = await askTransfer(client, 107, { idempotencyKey: key, description }).catch(() => null);
      if (reply === null) return;
      if (reply.status === 201) {
        answered.push({ created: reply.body, key });
        if (answered.length === ENOUGH) enough();
      } else assert.ok(reply.status >= 500, `${key} got ${reply.text}`);
    }
  });
  await Promise.all([...workers, stopped]);
  return { answered, asked };
}

/** Runs until the disk fails, and looks at what a start on a sound disk finds. */
async function runUntilEnd(
  server: Server,
  client: Merchant,
  startLimited: (server: Server) => Spawned,
  enough: () => void = () => {},
): Promise<void> {
  await server.terminate();
  const limited = startLimited(server);
  try {
    await until(() => isReady(server), 15_000, `readiness: ${limited.stderr()}`);
    const watched = endWithin(limited, STOPS_WITHIN_MS);
    const { answered, asked } = await fill(client, watched, enough);
    const outcome = await watched;
    assert.ok(
      outcome.code !== 0 && outcome.code !== null,
      `it ended with ${outcome.code}, ${outcome.signal} ${outcome.stderr}`,
    );
    assert.match(outcome.stderr, /write|disk|space|flush|sync|File too large/i, 'it does not say why');
    // lmdb itself must not come to a write that fails: it may abort of it.
    assert.not.match(outcome.stderr, /Attempting to write page/);
    assert.ok(answered.length >= ENOUGH, `only ${answered.length} were answered before`);

    await server.restart();
    await eachOf(answered, 32, async ({ created }) => {
      assert.equal(await shown(client, 'cashout', text(created, 'id')), created);
    });
    // What was asked for and not answered happened once or not at all.
    const ids = new Set(answered.map(({ created }) => text(created, 'id')));
    await eachOf(asked, 32, async (key) => {
      const reply = await askTransfer(client, 107, { idempotencyKey: key });
      assert.ok(reply.status === 201 || reply.status === 409, reply.text);
      ids.add(text(reply.body, reply.status === 201 ? 'id' : 'transactionId'));
    });
    assert.is(ids.size, asked.length);
    assert.is(await client.balance(), BALANCE - asked.length * (107 + 50));
    await expectVerified(server);
  } finally {
    limited.child.kill('SIGKILL');
    await limited.ended;
  }
}

/**
 * Prepares a server, starts it again by `startLimited`, and asks it for more and more until it stops; `enough` is
 * called once so many were answered. Then it must have told no lie, and a plain start must find nothing half.
 */
export async function expectCleanEnd(
  options: ServerOptions,
  startLimited: (server: Server) => Spawned,
  enough: () => void = () => {},
): Promise<void> {
  await withServer(options, async (server) => {
    await runUntilEnd(server, await merchant(server, ['--balance', String(BALANCE)]), startLimited, enough);
  });
}
