/** The command line of `scripts/mongod.ts`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import { ensureMongod } from './install.ts';
import { type MongodOptions, startMongod } from './server.ts';

const USAGE = `usage: mongod.ts install
       mongod.ts start [--members standalone|1|3]
       mongod.ts run [--unless-given] [--members standalone|1|3] -- COMMAND ARGS...
`;

class UsageError extends Error {}

function membersOf(text: string): MongodOptions['members'] {
  if (text === 'standalone') return text;
  if (text === '1') return 1;
  if (text === '3') return 3;
  throw new UsageError(`--members must be standalone, 1 or 3, not ${text}`);
}

/** From now on a signal is the listener's, and doesn't end this process. */
function onSignals(listener: (signal: NodeJS.Signals) => void): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, listener);
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}

/** Runs the command with the server of that connection string; its exit code. */
async function withServer(uri: string, words: readonly string[]): Promise<number> {
  const [program = '', ...args] = words;
  const env = { ...process.env, MONGODB_TEST_URI: uri };
  const child = spawn(program, args, { stdio: 'inherit', env });
  onSignals((signal) => void child.kill(signal));
  return exitOf(child);
}

async function runCommand(
  members: MongodOptions['members'],
  words: readonly string[],
  given: string | undefined,
): Promise<number> {
  if (words.length === 0) throw new UsageError('no command after --');
  if (given !== undefined && given !== '') return withServer(given, words);
  const server = await startMongod({ members });
  try {
    return await withServer(server.uri, words);
  } finally {
    await server.stop();
  }
}

async function start(members: MongodOptions['members']): Promise<number> {
  const server = await startMongod({ members });
  const signalled = new Promise<void>((resolve) => {
    onSignals(() => resolve());
  });
  process.stdout.write(`${server.uri}\n`);
  // A pending promise alone does not keep a process.
  const awake = setInterval(() => {}, 60_000);
  await signalled;
  clearInterval(awake);
  await server.stop();
  return 0;
}

async function dispatch(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  const { values, positionals } = parseArgs({
    args: rest,
    options: {
      members: { type: 'string', default: '1' },
      'unless-given': { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const members = membersOf(values.members);
  const given = values['unless-given'] ? process.env.MONGODB_TEST_URI : undefined;
  if (name === 'run') return runCommand(members, positionals, given);
  if (positionals.length > 0) throw new UsageError(`unexpected: ${positionals.join(' ')}`);
  if (name === 'start') return start(members);
  if (name !== 'install') throw new UsageError(name === undefined ? 'no command' : `no command ${name}`);
  process.stdout.write(`${await ensureMongod()}\n`);
  return 0;
}

/** Does what the words say; the exit code. */
export async function main(args: string[]): Promise<number> {
  try {
    return await dispatch(args);
  } catch (error) {
    const usage = error instanceof UsageError || (error instanceof TypeError && 'code' in error);
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage ? USAGE : ''}`);
    return usage ? 2 : 1;
  }
}
