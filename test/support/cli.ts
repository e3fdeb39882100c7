import { resolve } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { systemUser } from '../../src/console/user.ts';
import { type Answer, askToRun } from '../../src/holder/asking.ts';
import { holderOf } from '../../src/store/folder-lock.ts';
import { packageVersion } from '../../src/version.ts';
import type { Json } from './json.ts';
import { parseJson } from './json.ts';
import { type Env, endWithin, spawnNode } from './process.ts';
import type { Server } from './server.ts';
import { storeEnv } from './store.ts';

/** What a command did. `json` is its standard output as JSON, null when that is none. */
export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
  json: Json;
}

const commandTimeoutMs = 60_000;

/** Runs `pixstate args...` on a server's store, or on a data folder. */
export async function cli(target: Server | string, args: string[], env: Env = {}): Promise<CliResult> {
  const base: Env =
    typeof target === 'string'
      ? { DATA_DIR: target, LOG_LEVEL: 'warn', ...storeEnv(env.DATA_DIR ?? target, env) }
      : target.env;
  const spawned = spawnNode(['dist/src/cli/pixstate.js', ...args], { ...base, ...env });
  const { code, stdout, stderr } = await endWithin(spawned, commandTimeoutMs);
  return { code, stdout, stderr, json: parseJson(stdout) ?? null };
}

/** Runs a command with `--json` and returns its document; throws unless it exits with 0. */
export async function cliJson(target: Server | string, args: string[], env: Env = {}): Promise<Json> {
  const result = await cli(target, [...args, '--json'], env);
  if (result.code !== 0) {
    throw new Error(`pixstate ${args.join(' ')} exits ${result.code}: ${result.stdout}${result.stderr}`);
  }
  return result.json;
}

/** What a command would ask of the server that holds its folder; null where there is none to ask. */
async function asked({ env }: Server, args: string[]): Promise<Answer | null> {
  const { dataDir, mongodbUri, stuckAfterS, allowPrivateWebhooks } = readConfig(env);
  const folder = resolve(dataDir);
  const holder = mongodbUri === null ? holderOf(folder) : null;
  if (holder === null || holder.socket === null) return null;
  const settings = { stuckAfterS, allowPrivateWebhooks };
  const request = { args, user: systemUser(), id: null, settings, json: true, isWatched: false };
  return askToRun({ folder, holder, version: packageVersion() }, request, () => {});
}

/** As `cliJson`, by a process of its own only where it needs one: for tests that are not about the command. */
export async function askJson(server: Server, args: string[]): Promise<Json> {
  const answer = await asked(server, [...args, '--json']);
  if (answer?.kind !== 'ended') return cliJson(server, args);
  const document = answer.out.join('');
  if (answer.code !== 0) throw new Error(`pixstate ${args.join(' ')} exits ${answer.code}: ${document}`);
  return parseJson(document) ?? null;
}
