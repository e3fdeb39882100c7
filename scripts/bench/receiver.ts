/**
 * A webhook receiver that counts; GET / tells how many events it has answered, how many requests came again with one
 * of these, and when the last one came. With the argument `hang` it takes requests and never answers them. It reads no
 * more of a request than where that ends and its event's id: it has the same cores as the server that is measured, and
 * `node:http` would take about as long for a webhook as the sender.
 */
import { createServer, type Socket } from 'node:net';

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const EVENT = /\r\nidempotency-key: *(\S+)/i;

const hangs = process.argv[2] === 'hang';
const events = new Set<string>();
let again = 0;
let last = 0;

function answer(body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** What is delivered twice is one event: it would stand for another one that was lost. */
function note(head: string): void {
  // A part of a text keeps all of it in memory; a copy doesn't.
  const event = Buffer.from(EVENT.exec(head)?.[1] ?? '').toString('latin1');
  const known = events.size;
  events.add(event);
  if (events.size === known) again += 1;
  last = Date.now();
}

/** Answers the request whose head this is; nothing where it hangs. */
function answered(head: string): string {
  if (head.startsWith('GET ')) return answer(JSON.stringify({ count: events.size, again, last }));
  if (hangs) return '';
  note(head);
  return answer('');
}

function serve(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let answers = '';
    for (;;) {
      const endOfHead = rest.indexOf(END_OF_HEAD);
      if (endOfHead === -1) break;
      const head = rest.toString('latin1', 0, endOfHead);
      const end = endOfHead + END_OF_HEAD.length + Number(LENGTH.exec(head)?.[1] ?? 0);
      if (rest.length < end) break;
      rest = rest.subarray(end);
      answers += answered(head);
    }
    if (answers !== '') socket.write(answers);
  });
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
