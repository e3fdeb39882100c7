/** What the scenes of the recipe share: the older build's server and commands, its receiver, its merchants. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { callBack } from '../../test/faults/scene.ts';
import { type Json, list, parseJson, text } from '../../test/support/json.ts';
import type { KeptMessage } from '../../test/support/older-build.ts';
import { type Env, endWithin, spawnNode } from '../../test/support/process.ts';
import type { Receiver } from '../../test/support/receiver.ts';
import type { Server } from '../../test/support/server.ts';
import type { Cast, MerchantName } from './cast.ts';

/** What a transaction is there for, and whose it is. */
export interface Story {
  story: string;
  merchant: MerchantName;
}

export interface Stage {
  readonly server: Server;
  readonly receiver: Receiver;
  readonly cast: Cast;
  /** By the transaction's id. */
  readonly stories: Map<string, Story>;
  /** A command of the older build beside its server. */
  command(args: string[]): Promise<Json>;
}

const COMMAND_MS = 60_000;

/** Runs a command of a build with `--json`. */
export async function runCommand(build: string, env: Env, args: string[]): Promise<Json> {
  const program = join(build, 'dist', 'src', 'cli', 'pixstate.js');
  const { code, stdout, stderr } = await endWithin(spawnNode([program, ...args, '--json'], env), COMMAND_MS);
  if (code !== 0) throw new Error(`pixstate ${args.join(' ')} exits ${code}: ${stdout}${stderr}`);
  return parseJson(stdout) ?? null;
}

/** Takes note of what a transaction is there for; its id. */
export function tellStory(
  { stories }: Stage,
  merchant: MerchantName,
  story: string,
  transaction: Json,
): string {
  const id = text(transaction, 'id');
  stories.set(id, { story, merchant });
  return id;
}

/** A message of the bank with an id of its own. */
export function bankMessage(transactionId: string, type: string, data: Json): KeptMessage {
  return { id: `bank-${randomUUID()}`, transactionId, type, data };
}

/** What a payment tells of itself. */
export function paymentData(endToEndId: string, amount: number): { [part: string]: Json } {
  return { endToEndId, amount, paidAt: new Date().toISOString() };
}

/** Sends the bank's messages to its callback; each must have the result that is expected of it. */
export async function tellAsBank(
  { server }: Pick<Stage, 'server'>,
  messages: readonly (KeptMessage & { result: string })[],
): Promise<void> {
  const reply = await callBack(
    server.root,
    messages.map(({ result: _, ...message }) => message),
  );
  const results = reply.status === 200 ? list(reply.body) : [];
  messages.forEach(({ type, result }, index) => {
    const got = results[index] ?? null;
    if (got === null || text(got, 'result') !== result)
      throw new Error(`${type} should have been ${result}: ${JSON.stringify(got)} ${reply.text}`);
  });
}
