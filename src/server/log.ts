/** The server's log: lines of JSON on stderr, without what nobody may read there. */
import { pino } from 'pino';
import { codeOf } from '../errors.ts';

/**
 * What a full disk, or a reader that has stopped, has no room for waits for it, and so for the next reader where one has
 * left, up to so many bytes; more is lost.
 */
const MOST_WAITING = 1_048_576;
/** Until what waits is written again, for a reader that is slow, and for one that has left and may be started anew. */
const AGAIN_MS = 100;
const ANEW_MS = 1_000;
/** For so long a process that ends waits for a reader that is slow. */
const AT_LAST_MS = 500;
/** Between two of its tries. */
const A_TRY_MS = 5;
/** The reader has left. */
const LEFT = 'EPIPE';

type Destination = ReturnType<typeof pino.destination>;

function openStderr(): Destination {
  // Whoever writes to a pipe that is full waits for its reader, until Node was asked for the stream once.
  void process.stderr;
  // What it finds no room for it would try again here and now, without end.
  const retryEAGAIN = (): boolean => false;
  const stderr = pino.destination({ fd: 2, sync: true, maxLength: MOST_WAITING, retryEAGAIN });
  // Pino's own would have nothing written any more once a reader has left.
  return stderr.removeAllListeners('error');
}

/**
 * Writes again what could not be written, until it is: now and then, and at the process's end for a moment. `tellLost`
 * is called there once nothing waits: whatever comes with a later turn of the event loop doesn't come any more.
 */
function writeAgain(stderr: Destination, tellLost: () => void): void {
  let isWaiting = false;
  let hasLeft = false;
  const tryAgain = (): void => {
    isWaiting = false;
    stderr.write('');
  };
  stderr.on('error', (error) => {
    hasLeft = codeOf(error) === LEFT;
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(tryAgain, hasLeft ? ANEW_MS : AGAIN_MS).unref();
  });
  process.on('exit', () => {
    const nobody = new Int32Array(new SharedArrayBuffer(4));
    for (let left = AT_LAST_MS; left > 0; left -= A_TRY_MS) {
      if (isWaiting) tryAgain();
      if (!isWaiting) tellLost();
      // Nobody starts a reader for a process that ends.
      if (!isWaiting || hasLeft) return;
      Atomics.wait(nobody, 0, 0, A_TRY_MS);
    }
  });
}

/** Opens the log at a level of pino's. A log that can't be written stops nobody; what was lost of it is counted there. */
export function openLog(level: string): pino.Logger {
  const stderr = openStderr();
  const redact = ['req.headers.authorization', '*.clientSecret', '*.secret', '*.pixKey', '*.document'];
  const log = pino({ level, redact, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stderr);
  let lost = 0;
  const tellLost = (): void => {
    if (lost === 0) return;
    const lines = lost;
    lost = 0;
    log.error({ lines }, 'the log could not be written: lines are lost');
  };
  stderr.on('drop', () => {
    lost += 1;
    if (lost === 1) stderr.once('drain', tellLost);
  });
  writeAgain(stderr, tellLost);
  return log;
}
