/** The server as a process: its configuration, its log, its signals, and how it ends. */
import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runOn } from './cli/running/others.ts';
import { outliveOutput } from './cli/running/streams.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import type { Core } from './core.ts';
import { OperatorError, writeFailure } from './errors.ts';
import { withoutPretenuring } from './pretenuring.ts';
import { openLog } from './server/log.ts';
import { type Running, start } from './server/start.ts';

/** Within this time a write that is under way comes to its end, on a disk that doesn't hang. */
const LAST_WRITES_MS = 200;
/**
 * Of each of the two halves of a worker thread's young generation, in MB. The engine's own has what the command line
 * says, for rounds of many accounts; what other threads make lives for a request or an attempt. Threads of 32 MB took
 * as much CPU, and 25 to 50 MB more of memory each.
 */
const THREADS_SEMI_SPACE_MB = 8;
/** The whole of a shutdown, whatever a write waits for. */
const STOP_MS = 9_000;

/** A shutdown that doesn't end: a write waits for another process. */
function endAtOnce(): void {
  process.stderr.write(
    `pixstate stops: not all has ended within ${STOP_MS / 1000} s; what was answered is kept\n`,
  );
  // Not `process.exit`: it joins the thread that waits inside the write, and never ends.
  process.kill(process.pid, 'SIGKILL');
}

/** Tells in a line why a server can't start. */
export function tellCantStart({ message }: OperatorError): void {
  process.stderr.write(`pixstate can't start: ${message}\n`);
}

/** Runs the server until SIGTERM or SIGINT; the process ends with it. What the operator can mend is told by `tell`. */
export async function serve(config: Config, tell: (error: OperatorError) => void): Promise<void> {
  let hasFailed = false;
  const cantStart = (error: unknown): never => {
    if (!(error instanceof OperatorError)) throw error;
    // Where a write has failed, that has been told.
    if (!hasFailed) tell(error);
    process.exit(1);
  };
  // A thread's `resourceLimits` do nothing where the command line has this flag, and V8 reads it again for each new
  // thread, and no more for this one.
  setFlagsFromString(`--max-semi-space-size=${THREADS_SEMI_SPACE_MB}`);
  const log = openLog(config.logLevel);
  const onFatal = (error: Error): void => {
    if (hasFailed) return;
    hasFailed = true;
    process.stderr.write(
      `pixstate stops: ${error instanceof OperatorError ? error.message : writeFailure(error)}\n`,
    );
    // lmdb's other writing thread may be about to fail as well, and an exit amid that is an abort at times. The failed
    // store answers no write meanwhile.
    setTimeout(() => process.exit(1), LAST_WRITES_MS);
  };
  let running: Running | null = null;
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'shutting down');
    // An HTTP thread may have told a probe that the process is there; but nothing has been opened yet.
    if (running === null) process.exit(0);
    setTimeout(endAtOnce, STOP_MS);
    running.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  try {
    running = await start(config, log, { onFatal, runOn });
  } catch (error) {
    return cantStart(error);
  }
  const { port, started } = running;
  let core: Core | null;
  try {
    core = await started;
  } catch (error) {
    if (stopping) return;
    return cantStart(error);
  }
  if (core !== null && !stopping)
    log.info({ port, host: config.host, store: core.place, bank: config.bank }, 'serving');
}

/** The configuration, or every mistake in it and the end of the process. */
export function configOrExit(): Config {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(
      `pixstate can't start: ${error.message}\n${error.mistakes.map((mistake) => `  ${mistake}\n`).join('')}`,
    );
    process.exit(2);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  outliveOutput();
  withoutPretenuring();
  await serve(configOrExit(), tellCantStart);
}
