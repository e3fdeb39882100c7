/** Runs the command line on a data folder, and fills such a folder without a server. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config.ts';
import { type Core, openCore } from '../../src/core.ts';
import { type CliResult, cli } from '../support/cli.ts';
import { type Json, object, parseJson, text } from '../support/json.ts';
import type { Env } from '../support/process.ts';
import { storeEnv } from '../support/store.ts';

export class Folder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<Folder> {
    return new Folder(await mkdtemp(join(tmpdir(), 'pixstate-cli-')));
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }

  run(args: readonly string[], env: Env = {}): Promise<CliResult> {
    return cli(this.path, [...args], env);
  }

  /** A command's JSON document; it must end with the exit code. */
  async json(args: readonly string[], code = 0, env: Env = {}): Promise<Json> {
    const result = await this.run([...args, '--json'], env);
    assert.is(result.code, code, `${args.join(' ')}: ${result.stdout}${result.stderr}`);
    const document = parseJson(result.stdout);
    if (document === undefined) throw new Error(`${args.join(' ')}: no JSON: ${result.stdout}`);
    return document;
  }

  /** A command that must fail: its error object has the code. */
  async fails(args: readonly string[], code: number, error: string): Promise<Json> {
    const document = await this.json(args, code);
    assert.is(text(document, 'error'), error);
    assert.ok(text(document, 'message').length > 0);
    return document;
  }

  /** Works with a core of this process's own. */
  async withCore<Value>(work: (core: Core) => Promise<Value>): Promise<Value> {
    const onFatal = (error: Error): void => {
      throw error;
    };
    const core = await openCore(readConfig({ DATA_DIR: this.path, ...storeEnv(this.path) }), { onFatal });
    try {
      await core.ready;
      return await work(core);
    } finally {
      await core.engine.drain(1_000);
      await core.close();
    }
  }

  async account(...args: string[]): Promise<string> {
    return text(object(await this.json(['account', 'create', ...args])), 'accountId');
  }

  charge(accountId: string, amount = 10_000, externalRef: string | null = null): Promise<string> {
    return this.withCore(async (core) => {
      const account = await core.store.accounts.get(accountId);
      if (account === null) throw new Error('no account');
      const nothing = {
        externalRef,
        description: null,
        additionalInfo: null,
        customer: null,
        expiresIn: null,
      };
      const answer = await core.payments.createCharge(account, { amount, metadata: {}, ...nothing }, {});
      if (answer.kind !== 'applied') throw new Error(answer.kind);
      return answer.record.id;
    });
  }

  transfer(accountId: string, amount = 1_000, idempotencyKey: string | null = null): Promise<string> {
    return this.withCore(async (core) => {
      const account = await core.store.accounts.get(accountId);
      if (account === null) throw new Error('no account');
      const nothing = { externalRef: null, description: null, idempotencyKey, metadata: {} };
      const key = { pixKeyType: 'EMAIL' as const, pixKey: 'someone@example.com' };
      const answer = await core.payments.createTransfer(account, { amount, ...nothing, ...key }, {});
      if (answer.kind !== 'applied') throw new Error(answer.kind);
      return answer.record.id;
    });
  }
}
