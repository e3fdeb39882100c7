/** The consoles of two servers on one database: a session holds at both, a link signs in once at either. */
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { call, link, origin, pageHeaders, signIn, startConsole, visitor } from '../console/visitor.ts';
import { cli } from '../support/cli.ts';
import { text } from '../support/json.ts';
import { temporaryFolder } from '../support/process.ts';
import type { Server } from '../support/server.ts';
import { dropStore } from '../support/store.ts';
import { until } from '../support/wait.ts';

const test = suite<{ folder: string; a: Server; b: Server }>('consoles on one database');

test.before(async (context) => {
  context.folder = await temporaryFolder();
  context.a = await startConsole({ dataDir: context.folder });
  context.b = await startConsole({ dataDir: context.folder });
  assert.is(context.a.env.MONGODB_URI, context.b.env.MONGODB_URI);
  // Their own connections may come a moment after the servers'.
  for (const server of [context.a, context.b])
    await until(async () => (await call(server, 'GET', '/me')).status === 401, 5_000, 'the store is there');
});
test.after(async ({ folder, a, b }) => {
  // A start that failed has left none.
  for (const server of [a, b] as (Server | undefined)[]) await server?.stop();
  await rm(folder, { recursive: true, force: true });
  await dropStore(folder);
});

test('a session of one holds at the other, and ends at both', async ({ a, b }) => {
  const { headers } = await visitor(a, ['--url', origin(a), '--by', 'Eva']);
  for (const server of [a, b]) assert.is(text((await call(server, 'GET', '/me', headers)).body, 'by'), 'Eva');
  const left = await call(b, 'DELETE', '/session', { ...headers, ...pageHeaders(b) });
  assert.is(left.status, 204);
  for (const server of [a, b]) assert.is((await call(server, 'GET', '/me', headers)).status, 401);
});

test('a link that is tried at both at once signs in at one', async ({ a, b }) => {
  for (let round = 0; round < 5; round++) {
    const { key } = await link(a);
    const replies = await Promise.all([a, b, a, b].map((server) => signIn(server, key)));
    const statuses = replies.map(({ status }) => status).sort();
    assert.equal(statuses, [200, 401, 401, 401], `round ${round}`);
  }
});

test('a link leads to the newest server that answers, and to none where none does', async ({ a, b }) => {
  assert.ok((await link(a)).url.startsWith(`${origin(b)}/#k=`));
  await b.kill();
  assert.ok((await link(a)).url.startsWith(`${origin(a)}/#k=`));
  await a.terminate();
  const { code, json } = await cli(a, ['console', '--json']);
  assert.is(code, 1);
  assert.is(text(json, 'error'), 'NO_CONSOLE');
});

test.run();
