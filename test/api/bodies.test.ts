/**
 * What every kind of body is answered, over real sockets, and what the next request on the connection gets:
 * compared to the letter with `bodies.txt`.
 */
import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { type Answer, Answers, openSocket } from '../faults/pipeline.ts';
import { basic, merchant } from '../support/client.ts';
import { unknownId } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { startServer } from '../support/server.ts';
import { callbackSecret } from '../support/signature.ts';
import { bodies, FRAMINGS, type Framing, requestBytes, SAID, signatureLines } from './bodies-requests.ts';
import { Legend, type Row, tableOf } from './bodies-tables.ts';

const ANSWERED_WITHIN_MS = 10_000;
const LANES = 8;
const FOLLOWING = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

const { test, run } = fixtureSuite('bodies', async (defer) => {
  const server = await startServer({ env: { BANK_CALLBACK_SECRET: callbackSecret } });
  defer(() => server.stop());
  const client = await merchant(server);
  const authorization = `Authorization: ${basic(client.clientId, client.clientSecret)}`;
  return { port: server.port, authorization };
});

/** Sends a request and another behind it; both answers. @throws where the connection ends or stays silent */
async function answersTo(port: number, request: Buffer): Promise<Answer[]> {
  const socket = await openSocket(port);
  const answers = new Answers();
  try {
    return await new Promise((resolve, reject) => {
      socket.setEncoding('latin1');
      socket.setTimeout(ANSWERED_WITHIN_MS, () => reject(new Error('no answer')));
      socket.on('data', (chunk: string) => {
        answers.add(chunk);
        if (answers.taken.length === 2) resolve(answers.taken);
      });
      socket.once('close', () => reject(new Error(`ended after ${answers.taken.length} answers`)));
      socket.write(request);
      socket.write(FOLLOWING);
    });
  } finally {
    socket.destroy();
  }
}

const HEADERS = 'connection,content-length,content-type,date,keep-alive,x-request-id';

/** The answer's word. The connection goes on, and the headers are those of any answer. */
function wordFor(legend: Legend, [answer, following]: Answer[]): string {
  assert.ok(answer !== undefined && following !== undefined);
  assert.equal([following.status, following.body], [200, { status: 'alive' }]);
  const names = Object.keys(answer.headers).filter((name) => !name.startsWith('ratelimit'));
  assert.is(names.sort().join(), HEADERS);
  assert.is(answer.headers['content-type'], 'application/json; charset=utf-8');
  assert.is(answer.headers.connection, 'keep-alive');
  return legend.wordOf(answer);
}

/** Runs the work for all, a few at a time; the results in order. */
async function inLanes<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const lane = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return results;
}

interface Endpoint {
  title: string;
  path: string;
  good: string;
  limit: number;
  /** Lines of the request that depend on its body. */
  lines(authorization: string, body: Buffer | null): string[];
}

const authorized = (authorization: string): string[] => [authorization];
const KIB = 1_024;
const ENDPOINTS: readonly Endpoint[] = [
  { title: 'a charge', path: '/pix-in', good: '{"amount":1000}', limit: 64 * KIB, lines: authorized },
  {
    title: 'an optional body, to a charge that is not there',
    path: `/sandbox/pix-in/${unknownId}/pay`,
    good: '{"payer":{"name":"Maria"}}',
    limit: 64 * KIB,
    lines: authorized,
  },
  {
    title: 'a signed callback',
    path: '/bank/callbacks',
    good: '[]',
    limit: KIB * KIB,
    lines: (_, body) => signatureLines(callbackSecret, body),
  },
  {
    title: 'a callback without a signature',
    path: '/bank/callbacks',
    good: '[]',
    limit: KIB * KIB,
    lines: () => [],
  },
];

async function rowsFor(
  legend: Legend,
  port: number,
  authorization: string,
  framing: Framing,
  { path, good, limit, lines }: Endpoint,
): Promise<Row[]> {
  const all = bodies(good, limit);
  return inLanes(SAID, async (said) => {
    const words: string[] = [];
    for (const body of all.values()) {
      const first = [`POST /v1${path} HTTP/1.1`, 'Host: x', ...lines(authorization, body)];
      const answers = await answersTo(port, requestBytes(first, said, framing, body));
      words.push(wordFor(legend, answers));
    }
    return { said, words };
  });
}

for (const framing of FRAMINGS) {
  test(`every kind of body, sent ${framing}, has the answer that it always had`, async ({
    port,
    authorization,
  }) => {
    const legend = new Legend();
    let tables = '';
    for (const endpoint of ENDPOINTS) {
      const rows = await rowsFor(legend, port, authorization, framing, endpoint);
      const names = [...bodies(endpoint.good, endpoint.limit).keys()];
      tables += `## ${endpoint.title}\n\n${tableOf(names, rows)}\n`;
    }
    const expected = readFileSync(new URL('bodies.txt', import.meta.url), 'utf8');
    assert.fixture(`${tables}## What the words stand for\n\n${legend}`, expected);
  });
}

run();
