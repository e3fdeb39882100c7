/** The server's log: lines of JSON on stderr, without what nobody may read there. */
import { pino } from 'pino';

/** Opens the log at a level of pino's. */
export function openLog(level: string): pino.Logger {
  const redact = ['req.headers.authorization', '*.clientSecret', '*.secret', '*.pixKey', '*.document'];
  return pino(
    { level, redact, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
}
