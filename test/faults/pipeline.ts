/** Many requests at the same moment: written to raw sockets one behind the other, without waiting for answers. */
import { connect, type Socket } from 'node:net';
import { basic, type Merchant } from '../support/client.ts';
import { type Json, parseJson } from '../support/json.ts';

/** An answer as it came over the socket; header names are in lower case. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Json;
}

/** One request of HTTP/1.1 as text. */
export function requestText(
  merchant: Pick<Merchant, 'clientId' | 'clientSecret'>,
  method: string,
  path: string,
  body?: Json,
): string {
  const json = body === undefined ? '' : JSON.stringify(body);
  const lines = [
    `${method} /v1${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: ${basic(merchant.clientId, merchant.clientSecret)}`,
    ...(body === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(json)}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${json}`;
}

/** Takes whole answers off the text of a socket. */
export class Answers {
  readonly taken: Answer[] = [];
  #text = '';
  #position = 0;

  add(chunk: string): void {
    this.#text = this.#text.slice(this.#position) + chunk;
    this.#position = 0;
    while (this.#take());
  }

  #take(): boolean {
    const end = this.#text.indexOf('\r\n\r\n', this.#position);
    if (end < 0) return false;
    const [first = '', ...lines] = this.#text.slice(this.#position, end).split('\r\n');
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const bodyAt = end + 4;
    const bodyEnd = bodyAt + Number(headers['content-length'] ?? 0);
    if (this.#text.length < bodyEnd) return false;
    const body = parseJson(this.#text.slice(bodyAt, bodyEnd)) ?? null;
    this.taken.push({ status: Number(first.split(' ')[1]), headers, body });
    this.#position = bodyEnd;
    return true;
  }
}

/** Opens a socket to a port of 127.0.0.1. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => resolve());
  });
  socket.on('error', () => undefined);
  return socket;
}

/** Resolves once so many answers are there; rejects when the socket ends before, or after `timeoutMs`. */
export function answersOn(socket: Socket, count: number, timeoutMs: number): Promise<Answer[]> {
  const answers = new Answers();
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(new Error(`${answers.taken.length} of ${count} answers: ${why}`));
    };
    const timer = setTimeout(() => fail(`more did not come within ${timeoutMs} ms`), timeoutMs);
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      answers.add(chunk);
      if (answers.taken.length < count) return;
      clearTimeout(timer);
      resolve(answers.taken);
    });
    socket.once('close', () => fail('the connection ended'));
  });
}

/** Sends all requests at once over at most so many sockets; the answers stand in no particular order. */
export async function pipelined(
  port: number,
  requests: readonly string[],
  sockets: number,
  timeoutMs = 25_000,
): Promise<Answer[]> {
  const width = Math.min(sockets, requests.length);
  const opened = await Promise.all(Array.from({ length: width }, () => openSocket(port)));
  try {
    const answers = opened.map(async (socket, index) => {
      const own = requests.filter((_, position) => position % width === index);
      const all = answersOn(socket, own.length, timeoutMs);
      socket.write(own.join(''));
      return all;
    });
    return (await Promise.all(answers)).flat();
  } finally {
    for (const socket of opened) socket.destroy();
  }
}
