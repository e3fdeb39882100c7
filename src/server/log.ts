/** The server's log: lines of JSON on stderr, without what nobody may read there. */
import { pino } from 'pino';

/** What a full disk has no room for waits for it, up to so many characters; what is more is lost. */
const MOST_WAITING = 1_048_576;

/** Opens the log at a level of pino's. A log that can't be written stops nobody. */
export function openLog(level: string): pino.Logger {
  const stderr = pino.destination({ fd: 2, sync: true, maxLength: MOST_WAITING });
  stderr.on('error', () => {});
  const redact = ['req.headers.authorization', '*.clientSecret', '*.secret', '*.pixKey', '*.document'];
  return pino({ level, redact, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stderr);
}
