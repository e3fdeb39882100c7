/** Receivers on loopback and a sender towards them, closed together. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { type SenderLimits, senderLimits } from '../../../src/webhooks/sender/limits.ts';
import { LocalSender } from '../../../src/webhooks/sender/local.ts';
import type { Attempted, Send, SendResult, WebhookSender } from '../../../src/webhooks/sender/port.ts';

/** What a sender's thread does, in this one. */
export function localSender({
  allowPrivate = true,
  now = Date.now,
  ...limits
}: Partial<SenderLimits> & { allowPrivate?: boolean; now?: () => number }): WebhookSender {
  return new LocalSender({ allowPrivate, limits: senderLimits(limits), now });
}

/** A request as the receiver saw it. */
export interface Seen {
  method: string;
  url: string;
  headers: Map<string, string>;
  /** Header names as written. */
  names: string[];
  body: string;
}

/** A receiver: where it listens, what it saw, how to stop it. */
export interface Receiver {
  url: string;
  seen: Seen[];
  /** How many connections were opened, and how many are. */
  readonly opened: number;
  readonly open: number;
  close(): Promise<void>;
}

async function listen(server: net.Server, seen: Seen[]): Promise<Receiver> {
  const sockets = new Set<net.Socket>();
  let opened = 0;
  server.on('connection', (socket: net.Socket) => {
    opened += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    seen,
    get opened() {
      return opened;
    },
    get open() {
      return sockets.size;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A receiver that reads each request whole and then answers. */
export function receiver(
  answer: (response: http.ServerResponse, seen: Seen, nth: number) => void,
): Promise<Receiver> {
  const all: Seen[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const names = request.rawHeaders.filter((_, index) => index % 2 === 0);
      const values = request.rawHeaders.filter((_, index) => index % 2 === 1);
      const headers = new Map(names.map((name, index) => [name.toLowerCase(), values[index] ?? '']));
      const body = Buffer.concat(chunks).toString();
      const seen = { method: request.method ?? '', url: request.url ?? '', headers, names, body };
      all.push(seen);
      answer(response, seen, all.length);
    });
  });
  server.keepAliveTimeout = 60_000;
  return listen(server, all);
}

/** A receiver below HTTP: gets the socket once the first bytes of a request are there. */
export function rawReceiver(answer: (socket: net.Socket) => void): Promise<Receiver> {
  return listen(
    net.createServer((socket) => {
      socket.once('data', () => {
        socket.resume();
        answer(socket);
      });
    }),
    [],
  );
}

/** Sends and gathers what comes back. */
export class Outbox {
  readonly sender: WebhookSender;
  readonly results: SendResult[] = [];
  readonly #waiting: Array<() => void> = [];

  constructor(sender: WebhookSender) {
    this.sender = sender;
    sender.onResults((results) => {
      this.results.push(...results);
      for (const look of [...this.#waiting]) look();
    });
  }

  /** Resolves once the results fit; rejects after `withinMs`. */
  until(fits: (results: SendResult[]) => boolean, withinMs = 8_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`not within ${withinMs} ms: ${JSON.stringify(this.results)}`)),
        withinMs,
      );
      const look = () => {
        if (!fits(this.results)) return;
        clearTimeout(late);
        this.#waiting.splice(this.#waiting.indexOf(look), 1);
        resolve();
      };
      this.#waiting.push(look);
      look();
    });
  }

  /** Sends one item and waits for its attempt. */
  async attempt(item: Send): Promise<Attempted> {
    this.sender.send([item]);
    await this.until((results) => results.some(({ token }) => token === item.token));
    const result = this.results.find(({ token }) => token === item.token);
    if (result?.kind !== 'attempted') throw new Error('put off');
    return result;
  }
}

/** Base64 of 32 bytes, each of them 7. */
export const SECRET = 'whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=';

/** An item to send. */
export function item(token: string, url: string, more: Partial<Send> = {}): Send {
  return {
    token,
    account: 'acc_1',
    url,
    event: 'pix-in.paid',
    eventId: `evt_${token}`,
    transactionId: '7d1f5a9e-2c54-4a59-9a3e-0a4f6f1f0c11',
    body: '{"id":"evt_1","note":"ação"}',
    secrets: [SECRET],
    ...more,
  };
}
