/**
 * Ends a connection behind what was written on it. Where one is closed on which something lies unread, the kernel throws
 * away what it has yet to send: so what still comes is read, until the other side has ended, too.
 *
 * 1. What was written leaves first, and nothing is read meanwhile: of who doesn't read, nothing is.
 * 2. What is read then is no request: nobody parses it, and it is not kept.
 * 3. Who sends nothing any more and doesn't end, or sends on for long, is cut off.
 */
import type { Duplex } from 'node:stream';
import { elapsed } from '../clock.ts';

/** Once nothing has come for so long, nothing lies unread: what was written reaches who reads it later, too. */
const QUIET_MS = 1_000;
/** For so long, and so much, somebody may send on: what was on its way before the end, in both sides' kernels, is less. */
const SENDING_MS = 5_000;
const MOST_BYTES = 16 * 1_024 * 1_024;

/** Says the last on a connection, which must stay paused until that has left, and ends it. */
export function sayLast(socket: Duplex, text: string): void {
  socket.once('finish', () => discard(socket));
  socket.end(text);
}

function discard(socket: Duplex): void {
  const sentBy = elapsed() + SENDING_MS;
  let bytes = 0;
  const end = setTimeout(() => socket.destroy(), QUIET_MS).unref();
  socket.once('close', () => clearTimeout(end));
  // Node's parser has what comes until somebody listens, and may have stopped the reading: that begins with a push.
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) socket.destroy();
    else if (elapsed() < sentBy) end.refresh();
  });
  socket.push('');
  socket.resume();
}
