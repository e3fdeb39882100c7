/**
 * Somebody who does what a page says, from top to bottom: in one shell, whose variables last from block to block,
 * with a server of his own in a folder of his own. The page's ports become free ones.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pause, within } from '../../src/waiting.ts';
import { freePort } from '../mongod/ports.ts';
import type { Block, Language } from './blocks.ts';

const SERVER_PORT = 3000;
const CONSOLE_PORT = 3001;
/** Ports that pages write: the server's two, and those of receivers. */
const PORTS = [SERVER_PORT, CONSOLE_PORT, 9000, 9001];
const START_MS = 120_000;
const COMMAND_MS = 120_000;
const AT_LAST_MS = 15_000;

const INTERPRETERS: Record<Exclude<Language, 'sh'>, string> = {
  js: 'node --input-type=module -',
  python: 'python3 -u -',
};

/** A process that goes on, and what it has printed so far. */
class Ongoing {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #printed = '';

  constructor(command: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn('bash', ['-c', command], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#printed += chunk.toString();
    });
  }

  /** What it printed, once that fits. @throws Error where it ends before, or takes too long. */
  async printed(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray> {
    const endsAt = performance.now() + timeoutMs;
    for (;;) {
      const found = pattern.exec(this.#printed);
      if (found !== null) return found;
      if (this.#child.exitCode !== null || performance.now() > endsAt)
        throw new Error(`${pattern} was not printed, but: ${this.#printed}`);
      await pause(20);
    }
  }

  /** Ends it with all that it started. */
  async end(): Promise<void> {
    this.kill('SIGTERM');
    const late = (): Error => new Error('a process did not end');
    await within(AT_LAST_MS, this.#ended, late);
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#child.pid === undefined || this.#child.exitCode !== null) return;
    process.kill(-this.#child.pid, signal);
  }
}

/** Whether a language's interpreter isn't there: node and bash are, python3 may be. */
async function isMissing(language: Language): Promise<boolean> {
  if (language !== 'python') return false;
  return promisify(execFile)('python3', ['--version']).then(
    () => false,
    () => true,
  );
}

function textPattern(text: string): RegExp {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
}

export interface ReaderOptions {
  /** Whether a server runs from the beginning; one does where nothing is said. */
  serves?: boolean;
  env?: Record<string, string>;
  /** Words of the page that are others here, where the reader's folder is this one. */
  words?(folder: string): readonly (readonly [string, string])[];
  /** What lies in the reader's folder. */
  prepare?(folder: string): void;
}

export class Reader {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pixstate-docs-'));
  readonly #env: NodeJS.ProcessEnv;
  readonly #ports: ReadonlyMap<number, number>;
  readonly #background: { process: Ongoing; atLast: string }[] = [];
  #server: Ongoing | null = null;
  #credentials = '';

  /** Words of the page that are others here. */
  readonly #words: readonly (readonly [string, string])[];

  private constructor(ports: ReadonlyMap<number, number>, { env = {}, words, prepare }: ReaderOptions) {
    this.#ports = ports;
    this.#words = words?.(this.#folder) ?? [];
    prepare?.(this.#folder);
    const port = String(ports.get(SERVER_PORT));
    this.#env = {
      ...process.env,
      ...env,
      DATA_DIR: join(this.#folder, 'data'),
      PORT: port,
      TMPDIR: this.#folder,
    };
    writeFileSync(this.#variables, '');
  }

  /** Starts the server as the README says, unless the page starts one itself. */
  static async open(options: ReaderOptions = {}): Promise<Reader> {
    const ports = new Map<number, number>();
    for (const port of PORTS) ports.set(port, await freePort());
    const reader = new Reader(ports, options);
    try {
      if (options.serves !== false) await reader.#serve();
    } catch (error) {
      await reader.close();
      throw error;
    }
    return reader;
  }

  async #serve(): Promise<void> {
    // The server's alone: pages may start more of them.
    const admin = { ADMIN_PORT: String(this.#ports.get(CONSOLE_PORT)) };
    this.#server = new Ongoing('exec npm start', { ...this.#env, ...admin });
    const [, credentials = ''] = await this.#server.printed(/curl -u '([^']+)'/, START_MS);
    this.#credentials = credentials;
  }

  get #variables(): string {
    return join(this.#folder, 'variables');
  }

  /** Does what the page says with a block; a line on what became of it. @throws Error */
  async read(block: Block): Promise<string> {
    switch (block.kind) {
      case 'shown':
        return `shown    ${block.language}`;
      case 'notRun':
        return `NOT RUN  ${firstLine(block.code)}: ${block.reason}`;
      case 'credentials':
        appendFileSync(this.#variables, `export PIXSTATE='${this.#credentials}'\n`);
        return 'ok       the credentials';
      case 'run':
        return this.#run(block);
      case 'fails':
        return this.#fail(block);
      case 'background':
        return this.#start(block);
    }
  }

  async #run({ language, code, expected, stopped }: Block & { kind: 'run' }): Promise<string> {
    if (stopped) await this.#stop();
    if (await isMissing(language)) return `SKIPPED  no python3: ${firstLine(code)}`;
    const { stdout } = await this.#execute(language, code);
    if (!stdout.includes(expected)) throw new Error(`${code}\nprinted ${stdout}, which lacks ${expected}`);
    return `ok       ${firstLine(code)}`;
  }

  async #fail({ language, code, expected }: Block & { kind: 'fails' }): Promise<string> {
    const { stderr, failed } = await this.#execute(language, code).then(
      (done) => ({ ...done, failed: false }),
      (error: { stderr: string }) => ({ stderr: error.stderr, failed: true }),
    );
    if (!failed) throw new Error(`${code}\nsucceeded`);
    if (!stderr.includes(expected)) throw new Error(`${code}\nsaid ${stderr}, which lacks ${expected}`);
    return `fails    ${firstLine(code)}, as it should`;
  }

  #execute(language: Language, code: string): Promise<{ stdout: string; stderr: string }> {
    const options = { env: this.#env, timeout: COMMAND_MS, maxBuffer: 2 ** 24 };
    return promisify(execFile)('bash', ['-c', this.#command(language, code)], options);
  }

  async #start({ language, code, expected, atLast }: Block & { kind: 'background' }): Promise<string> {
    if (await isMissing(language)) return `SKIPPED  no python3: ${firstLine(code)}`;
    const ongoing = new Ongoing(this.#command(language, code), this.#env);
    this.#background.push({ process: ongoing, atLast });
    await ongoing.printed(textPattern(expected), COMMAND_MS);
    return `started  ${firstLine(code)}`;
  }

  /** What runs a block, in bash, with the variables of those before it. */
  #command(language: Language, code: string): string {
    const given = this.#words.reduce((text, [word, here]) => text.replaceAll(word, here), code);
    const own = given.replace(/\b\d{4}\b/g, (text) => String(this.#ports.get(Number(text)) ?? text));
    const before = `set -aeuo pipefail\n. '${this.#variables}'\n`;
    if (language === 'sh') return `${before}${own}\nexport -p > '${this.#variables}'`;
    // Read from stdin, the code finds the packages of this folder, as a file in it would.
    const file = join(this.#folder, `code.${language}`);
    writeFileSync(file, own);
    return `${before}exec ${INTERPRETERS[language]} < '${file}'`;
  }

  async #stop(): Promise<void> {
    await this.#server?.end();
    this.#server = null;
  }

  /** Waits for what was to be printed at last. @throws Error */
  async finish(): Promise<void> {
    for (const { process, atLast } of this.#background)
      await process.printed(textPattern(atLast), AT_LAST_MS);
  }

  async close(): Promise<void> {
    for (const { process } of this.#background) await process.end();
    await this.#stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** For a process that is about to end: nothing is waited for. */
  abandon(): void {
    for (const { process } of this.#background) process.kill('SIGKILL');
    this.#server?.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function firstLine(code: string): string {
  return code.trim().split('\n')[0] ?? '';
}
