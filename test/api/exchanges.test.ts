/**
 * What comes back over a connection on which bodies are sent in unusual ways, and whether it stays open: compared
 * with `exchanges.txt`.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import * as assert from 'uvu/assert';
import { type Answer, Answers, openSocket } from '../faults/pipeline.ts';
import { basic, merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { text } from '../support/json.ts';
import { startServer } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import { exchanges, type Piece } from './exchanges.ts';

/** A connection on which all has come that should stays silent when nothing more comes for this long. */
const SILENT_MS = 1_500;
/** What should come, and has not come by then, does not come: a busy machine takes seconds for an answer. */
const LATE_MS = 30_000;

const { test, run } = fixtureSuite('exchanges', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const client = await merchant(server);
  return {
    server,
    authorization: `Authorization: ${basic(client.clientId, client.clientSecret)}`,
  };
});

function shown({ status, headers, body }: Answer): string {
  const end = headers.connection === 'close' ? ', and closes' : '';
  if (status >= 400 && body !== null) return `${status} ${text(body, 'message')}${end}`;
  return `${status}${JSON.stringify(body) === '{"status":"alive"}' ? ' alive' : ''}${end}`;
}

async function send(socket: Socket, pieces: readonly Piece[], answers: Answers): Promise<void> {
  for (const piece of pieces) {
    if (typeof piece === 'number') await sleep(piece);
    else if (piece === 'FIN') socket.end();
    else if (typeof piece === 'string' || piece instanceof Uint8Array) socket.write(piece);
    else {
      const isThere = async () => answers.taken.length >= piece.answers || socket.closed;
      await until(isThere, LATE_MS, `answer ${piece.answers}`);
    }
  }
}

/** All that came back, until the server ended the connection or was silent after so many lines. */
async function comesBack(
  port: number,
  pieces: readonly Piece[],
  { answers: due, ends }: { answers: number; ends: boolean },
): Promise<string[]> {
  const socket = await openSocket(port);
  const answers = new Answers();
  const late = performance.now() + LATE_MS;
  const ended = new Promise<string>((resolve) => {
    socket.setTimeout(SILENT_MS, () => {
      const isAll = !ends && answers.taken.length >= due;
      if (isAll || performance.now() > late) resolve('stays open');
      else socket.setTimeout(SILENT_MS);
    });
    socket.once('end', () => resolve('ended'));
    socket.once('close', () => resolve('ended'));
  });
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => answers.add(chunk));
  try {
    const [end] = await Promise.all([ended, send(socket, pieces, answers)]);
    return [...answers.taken.map(shown), end];
  } finally {
    socket.destroy();
  }
}

/** The exchanges of `exchanges.txt` by name: a line for each answer, and how the connection ends. */
function recorded(expected: string): Map<string, string[]> {
  return new Map(
    expected.split('\n\n').map((each) => {
      const [name = '', ...lines] = each.trimEnd().split('\n');
      return [name, lines.map((line) => line.trim())];
    }),
  );
}

test('every exchange goes as it always went', async ({ server, authorization }) => {
  const expected = readFileSync(new URL('exchanges.txt', import.meta.url), 'utf8');
  const lines = recorded(expected);
  const all = [...exchanges(authorization)].map(async ([name, pieces]) => {
    const due = lines.get(name) ?? [];
    const wanted = { answers: due.length - 1, ends: due.at(-1) === 'ended' };
    const came = await comesBack(server.port, pieces, wanted);
    return `${name}\n${came.map((line) => `    ${line}\n`).join('')}`;
  });
  assert.fixture((await Promise.all(all)).join('\n'), expected);
});

const MIB = 1_024 * 1_024;
const SENT_MIB = 256;

/** The most memory that a process has ever had, in MiB. */
function mostMemory(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1_024;
}

test('bodies far beyond the limit are not kept in memory', async ({ server, authorization }) => {
  const body = Buffer.alloc(SENT_MIB * MIB, 'x');
  const head = ['POST /v1/pix-in HTTP/1.1', authorization, 'Content-Type: application/json'];
  const before = mostMemory(server.pid);
  for (const framing of [
    `Content-Length: ${body.length}\r\n\r\n`,
    `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`,
  ]) {
    const [answer] = await comesBack(server.port, [[...head, framing].join('\r\n'), body], {
      answers: 1,
      ends: false,
    });
    assert.is(answer, '413 The request body is larger than 65536 bytes.');
  }
  const more = mostMemory(server.pid) - before;
  assert.ok(more < SENT_MIB / 2, `${more} MiB more`);
});

run();
