/**
 * One `mongod` process with its data folder. It owns both: the process ends with this one (by the kernel's
 * parent-death signal where `setpriv` is there, even after SIGKILL), and nothing else is ever signalled.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { atEnd } from './cleanup.ts';
import { freePort } from './ports.ts';

export interface MemberOptions {
  binary: string;
  /** Null for a standalone server. */
  replicaSet: string | null;
  cacheGb: number;
  setParameters: Record<string, string>;
}

const startTimeoutMs = 60_000;
const portTries = 5;

/** A connection to exactly this server, whatever set it belongs to. */
export async function withAdmin<Value>(
  port: number,
  work: (client: MongoClient) => Promise<Value>,
): Promise<Value> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
    connectTimeoutMS: 1_000,
    socketTimeoutMS: 10_000,
  });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

let deathSignal: string[] | undefined;

/** The words before the program that let the kernel kill it once its parent is gone. */
function withDeathSignal(): string[] {
  if (deathSignal !== undefined) return deathSignal;
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'setpriv'))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  deathSignal = found === undefined ? [] : [found, '--pdeathsig', 'KILL', '--'];
  return deathSignal;
}

export class Member {
  readonly dir: string;
  readonly #options: MemberOptions;
  readonly #forget: () => void;
  #port: number;
  #child: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();
  #frozen = false;

  private constructor(options: MemberOptions, dir: string, port: number) {
    this.#options = options;
    this.dir = dir;
    this.#port = port;
    this.#forget = atEnd(() => {
      this.#child?.kill('SIGKILL');
      rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    });
  }

  /** Starts a member; resolves once it answers. */
  static async start(options: MemberOptions): Promise<Member> {
    const dir = await mkdtemp(join(tmpdir(), 'pixstate-mongod-'));
    const member = new Member(options, dir, await freePort());
    try {
      await mkdir(member.#data);
      for (let tries = 1; ; tries += 1) {
        try {
          await member.launch();
          return member;
        } catch (error) {
          // A port that was free a moment ago may be another's by now.
          const taken = error instanceof Error && /already in use/i.test(error.message);
          if (!taken || tries === portTries) throw error;
          member.#port = await freePort();
        }
      }
    } catch (error) {
      await member.remove();
      throw error;
    }
  }

  get port(): number {
    return this.#port;
  }

  get #data(): string {
    return join(this.dir, 'data');
  }

  /** -1 while it doesn't run. */
  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  /** It can be asked: it runs and isn't frozen. */
  get awake(): boolean {
    return this.running && !this.#frozen;
  }

  #arguments(): string[] {
    const { replicaSet, cacheGb, setParameters } = this.#options;
    const parameters = {
      enableTestCommands: '1',
      diagnosticDataCollectionEnabled: 'false',
      ...setParameters,
    };
    return [
      ...['--dbpath', this.#data, '--port', String(this.#port), '--bind_ip', '127.0.0.1'],
      ...['--nounixsocket', '--wiredTigerCacheSizeGB', String(cacheGb), '--enableFreeMonitoring', 'off'],
      ...['--logpath', join(this.dir, 'mongod.log'), '--logappend'],
      // The default grows with the disk's free space.
      ...(replicaSet === null ? [] : ['--replSet', replicaSet, '--oplogSize', '2048']),
      ...Object.entries(parameters).flatMap(([name, value]) => ['--setParameter', `${name}=${value}`]),
    ];
  }

  /** Starts the process on its folder and port; resolves once it answers, throws with the end of its log. */
  async launch(): Promise<void> {
    if (this.#child !== null) throw new Error(`the server on port ${this.#port} runs already`);
    const [program = '', ...args] = [...withDeathSignal(), this.#options.binary, ...this.#arguments()];
    const output = openSync(join(this.dir, 'output.log'), 'a');
    // Away from the terminal's Ctrl-C, so that whoever started it can stop it after its clients.
    const child = spawn(program, args, { detached: true, stdio: ['ignore', output, output] });
    closeSync(output);
    this.#child = child;
    this.#frozen = false;
    this.#ended = new Promise((resolve) => {
      const over = (): void => {
        if (this.#child === child) this.#child = null;
        resolve();
      };
      child.once('exit', over);
      child.once('error', over);
    });
    await this.#answers();
  }

  /** Whether it is this process that answers on the port, and not another one. */
  async #isOurs(): Promise<boolean> {
    try {
      const options = await withAdmin(this.#port, (client) =>
        client.db('admin').command({ getCmdLineOpts: 1 }),
      );
      return options.parsed?.storage?.dbPath === this.#data;
    } catch {
      return false;
    }
  }

  async #answers(): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    while (this.running && Date.now() < deadline) {
      if (await this.#isOurs()) return;
      await delay(25);
    }
    const reason = this.running ? `no answer within ${startTimeoutMs} ms` : 'it ended';
    const tail = await this.logTail();
    await this.kill();
    throw new Error(`mongod on port ${this.#port} did not start: ${reason}\n${tail}`);
  }

  /** The last lines that it wrote. */
  async logTail(lines = 15): Promise<string> {
    const texts = await Promise.all(
      ['output.log', 'mongod.log'].map((name) => readFile(join(this.dir, name), 'utf8').catch(() => '')),
    );
    return texts.map((text) => text.trim().split('\n').slice(-lines).join('\n')).join('\n');
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
    this.#frozen = this.running;
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
    this.#frozen = false;
  }

  /** kill -9; resolves once it is gone. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
  }

  /** `kill`, and its folder goes. */
  async remove(): Promise<void> {
    await this.kill();
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
    this.#forget();
  }
}
