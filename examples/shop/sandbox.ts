/** A Pixstate server of the shop's own: the sandbox bank, a temporary folder, a free port, and an account. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const START_MS = 30_000;

/** What `account create --json` prints, as far as it is used. */
interface Account {
  clientId: string;
  clientSecret: string;
  webhooks: { secret: string }[];
}

export interface Sandbox {
  baseUrl: string;
  account: Account;
  /** Rejects if the server ends by itself. */
  failed: Promise<never>;
  /** Ends the server and takes its folder away. */
  close(): Promise<void>;
}

function built(path: string): string {
  return fileURLToPath(new URL(`../../dist/src/${path}`, import.meta.url));
}

/** A port that is free now. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function isReady(root: string): Promise<boolean> {
  try {
    return (await fetch(`${root}/readyz`)).ok;
  } catch {
    // It doesn't listen yet.
    return false;
  }
}

async function untilReady(root: string, server: ChildProcess): Promise<void> {
  for (const end = performance.now() + START_MS; !(await isReady(root)); ) {
    if (server.exitCode !== null || performance.now() > end)
      throw new Error('the sandbox server did not start');
    await pause(50);
  }
}

/** @param webhookUrl where the account's webhooks go to */
export async function openSandbox(webhookUrl: string): Promise<Sandbox> {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-shop-'));
  const port = await freePort();
  const root = `http://127.0.0.1:${port}`;
  // Nothing of whoever's configuration this is started with: no real bank, no database.
  const env = {
    PATH: process.env.PATH,
    PORT: String(port),
    DATA_DIR: folder,
    BANK: 'sandbox',
    LOG_LEVEL: 'error',
  };
  // In a group of its own, so that Ctrl+C reaches the shop alone, which ends it.
  const server = spawn(process.execPath, [built('main.js')], {
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(server, 'exit');
  let isClosing = false;
  const close = async (): Promise<void> => {
    isClosing = true;
    server.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const failed = ended.then(() => {
    if (isClosing) return new Promise<never>(() => {});
    throw new Error('the sandbox server has ended by itself');
  });
  // Whoever waits for it is told; until then nobody does.
  failed.catch(() => {});
  try {
    await untilReady(root, server);
    const args = ['account', 'create', '--name', 'Casa do Grao', '--webhook-url', webhookUrl, '--json'];
    const command = [built('cli/pixstate.js'), ...args];
    const { stdout } = await promisify(execFile)(process.execPath, command, { env });
    return { baseUrl: `${root}/v1`, account: JSON.parse(stdout) as Account, failed, close };
  } catch (error) {
    await close();
    throw error;
  }
}
