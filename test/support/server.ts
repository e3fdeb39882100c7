import { mkdir, rm } from 'node:fs/promises';
import { request } from 'undici';
import { freePort } from '../../scripts/mongod/ports.ts';
import { type Env, endWithin, type Spawned, spawnNode, temporaryFolder } from './process.ts';
import { dropStore, storeEnv } from './store.ts';
import { sleep } from './wait.ts';

/** A server process of its own, with its data folder, which stands for its store on MongoDB as well. */
export interface Server {
  /** The base address, ending in `/v1`. */
  readonly url: string;
  /** The address above the base address. */
  readonly root: string;
  readonly port: number;
  readonly adminPort: number;
  readonly dataDir: string;
  /** The configuration that the process was started with; commands beside it share it. */
  readonly env: Env;
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** SIGTERM; waits for the end and returns the exit code. The data folder stays. */
  terminate(): Promise<number | null>;
  /** SIGKILL; the data folder stays. */
  kill(): Promise<void>;
  /** Starts again on the same data folder and port, after `terminate` where it still runs. */
  restart(env?: Env): Promise<void>;
  /** `terminate`, then removes a temporary data folder; returns the exit code. */
  stop(): Promise<number | null>;
}

export interface ServerOptions {
  env?: Env;
  /** A folder that the caller owns; without it a temporary one, removed by `stop`. */
  dataDir?: string;
  /** Empties `dataDir` before the start. */
  freshData?: boolean;
  /** The entry point and its arguments; by default the server itself. */
  entry?: string[];
}

const serverEntry = ['dist/src/main.js'];
/** For a machine that has much else to do: three servers and browsers that start at once, for one. */
const readyTimeoutMs = 60_000;
const exitTimeoutMs = 20_000;

async function isReady(root: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${root}/readyz`, { headersTimeout: 2_000, reset: true });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

async function ready(root: string, spawned: Spawned): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  let exited = false;
  const watch = spawned.ended.then(
    () => {
      exited = true;
    },
    () => {
      exited = true;
    },
  );
  while (Date.now() < deadline) {
    if (exited) {
      await watch;
      throw new Error(`the server ended before it was ready: ${spawned.stderr()}${spawned.stdout()}`);
    }
    if (await isReady(root)) return;
    await sleep(25);
  }
  spawned.child.kill('SIGKILL');
  await watch;
  throw new Error(`the server was not ready within ${readyTimeoutMs} ms: ${spawned.stderr()}`);
}

/** The HTTP threads of servers that tests start, where the run says so and a test doesn't. */
function threadsEnv(): Env {
  const { TEST_HTTP_THREADS } = process.env;
  return TEST_HTTP_THREADS === undefined ? {} : { HTTP_THREADS: TEST_HTTP_THREADS };
}

/** The configuration that the tests run a server with. */
export function serverEnv(dataDir: string, port: number, adminPort: number, env: Env = {}): Env {
  return {
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    DATA_DIR: dataDir,
    SANDBOX_DELAY_MS: '50',
    WEBHOOK_RETRY_SCALE: '0.001',
    LOG_LEVEL: 'warn',
    ...threadsEnv(),
    ...storeEnv(dataDir, env),
    ...env,
  };
}

/** Starts a server and waits until it is ready. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const dataDir = options.dataDir ?? (await temporaryFolder());
  if (options.dataDir !== undefined && options.freshData === true) {
    await rm(dataDir, { recursive: true, force: true });
    await mkdir(dataDir, { recursive: true });
    await dropStore(dataDir);
  }
  const port = await freePort();
  const adminPort = await freePort();
  const root = `http://127.0.0.1:${port}`;
  const entry = options.entry ?? serverEntry;
  let env = serverEnv(dataDir, port, adminPort, options.env);
  let running = true;
  /** Starts the process; where it ends and nobody told it to, the test's output says of what. */
  function launch(): Spawned {
    const one = spawnNode(entry, env);
    one.ended.then(
      ({ code, signal, stderr }) => {
        if (running && one === spawned) console.error(`the server ended: ${code ?? signal} ${stderr}`);
      },
      () => {},
    );
    return one;
  }
  let spawned = launch();

  async function discard(): Promise<void> {
    if (options.dataDir !== undefined) return;
    await rm(dataDir, { recursive: true, force: true });
    await dropStore(dataDir);
  }
  async function terminate(): Promise<number | null> {
    running = false;
    spawned.child.kill('SIGTERM');
    return (await endWithin(spawned, exitTimeoutMs)).code;
  }
  try {
    await ready(root, spawned);
  } catch (error) {
    await discard();
    throw error;
  }
  return {
    url: `${root}/v1`,
    root,
    port,
    adminPort,
    dataDir,
    get env() {
      return env;
    },
    get pid() {
      return spawned.pid;
    },
    stdout: () => spawned.stdout(),
    stderr: () => spawned.stderr(),
    terminate,
    async kill() {
      running = false;
      spawned.child.kill('SIGKILL');
      await spawned.ended;
    },
    async restart(changes = {}) {
      if (running) await terminate();
      env = { ...env, ...changes };
      running = true;
      spawned = launch();
      await ready(root, spawned);
    },
    async stop() {
      try {
        return running ? await terminate() : null;
      } finally {
        await discard();
      }
    },
  };
}
