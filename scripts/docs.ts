/**
 * Runs the README's own commands, in order, against a server that `npm start` started in a temporary folder.
 * A block after `<!-- run: TEXT -->` must succeed and print TEXT; the one after `<!-- credentials -->` is what
 * a reader fills in with what the server printed.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Block {
  command: string;
  /** What it must print; null: the reader's credentials. */
  expected: string | null;
}

function blocksOf(readme: string): Block[] {
  const pattern = /<!-- (credentials|run: (.*?)) -->\n```sh\n([\s\S]*?)```/g;
  return [...readme.matchAll(pattern)].map(([, , expected, command = '']) => ({
    command,
    expected: expected ?? null,
  }));
}

/** Starts the server as the README says and gives what it printed about the demo account. */
function start(env: NodeJS.ProcessEnv): Promise<{ server: ChildProcess; credentials: string }> {
  const server = spawn('npm', ['start'], { env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  return new Promise((resolve, reject) => {
    let printed = '';
    server.once('exit', (code) => reject(new Error(`npm start ended with ${code}: ${printed}`)));
    server.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      const credentials = /curl -u '([^']+)'/.exec(printed)?.[1];
      if (credentials !== undefined) resolve({ server, credentials });
    });
  });
}

function run({ command, expected }: Block, env: NodeJS.ProcessEnv): void {
  const printed = execFileSync('bash', ['-euo', 'pipefail', '-c', command], {
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  if (!printed.includes(expected ?? ''))
    throw new Error(`${command}\nprinted ${printed}, which lacks ${expected}`);
  console.log(`ok  ${command.trim().split('\n')[0]}`);
}

const folder = mkdtempSync(join(tmpdir(), 'pixstate-readme-'));
const blocks = blocksOf(readFileSync('README.md', 'utf8'));
const env: NodeJS.ProcessEnv = { ...process.env, DATA_DIR: folder };
const { server, credentials } = await start(env);
try {
  for (const block of blocks) {
    if (block.expected === null) env.PIXSTATE = credentials;
    else run(block, env);
  }
  if (blocks.length < 8) throw new Error(`only ${blocks.length} commands were found`);
  console.log(`${blocks.length} commands of the README work`);
} finally {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  // npm's own process and the server that it started.
  if (server.pid !== undefined) process.kill(-server.pid, 'SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
