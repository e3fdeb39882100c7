/**
 * Lets an older build fill a data folder and a database until they hold every state there is, kills its server, and
 * keeps what it left, with what it answers about it, for the tests of later builds (`test/support/older-build.ts`).
 *
 *   node --import tsx scripts/mongod.ts run -- node --import tsx scripts/older-build.ts BUILD NAME
 *
 * BUILD is the folder of a checkout that is installed and built; NAME, its commit, names the folder in
 * `test/older-builds/` that is written. It takes about five minutes. A crash hits what it hits: where something that
 * should be there isn't, it says what, writes nothing and may be run again.
 *
 * It drives the build over HTTP and with its commands; only what they don't show (what is due and whose it is) is read
 * from its tables (`older-build/places.ts`): a build that stores otherwise needs a place of its own.
 */
import { cp, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Kept, keptIn, receiverOf, writeAnswers } from '../test/support/older-build.ts';
import { temporaryFolder } from '../test/support/process.ts';
import { startServer } from '../test/support/server.ts';
import { callbackSecret } from '../test/support/signature.ts';
import { sleep } from '../test/support/wait.ts';
import { type Ask, collectAnswers, missing } from './older-build/answers.ts';
import { changeAccounts, createCast } from './older-build/cast.ts';
import { playCharges } from './older-build/charges.ts';
import { ALL_DUE_MS, crash } from './older-build/crash.ts';
import { answerDifferently, playDeliveries } from './older-build/deliveries.ts';
import { runCommand, type Stage } from './older-build/stage.ts';
import { playTransfers } from './older-build/transfers.ts';
import { databaseVariant, folderVariant, type Variant } from './older-build/variants.ts';

const STUCK_AFTER_S = 1;

/** Plays all scenes on a stage of their own; what is left then, and all that is known about it but the answers. */
async function play(build: string, name: string, variant: Variant) {
  const receiver = await receiverOf(variant);
  answerDifferently(receiver);
  const env = { ...variant.env, BANK_CALLBACK_SECRET: callbackSecret, SANDBOX_DELAY_MS: '20' };
  const entry = [join(build, 'dist', 'src', 'main.js')];
  const server = await startServer({ entry, env, dataDir: variant.dataDir });
  try {
    const command = (args: string[]) => runCommand(build, server.env, args);
    const cast = await createCast(server, receiver, command);
    const stage: Stage = { server, receiver, cast, stories: new Map(), command };
    const message = await playCharges(stage);
    await playTransfers(stage);
    await playDeliveries(stage);
    const retired = await changeAccounts(server, cast, command);
    await dismissOne(stage);
    const shownBefore = await crash(stage, variant.place);
    const killedAt = new Date().toISOString();
    const secretsKey = await variant.secretsKey();
    const settings = { receiver: variant.receiver, secretsKey, stuckAfterS: STUCK_AFTER_S };
    const known = { build: name, killedAt, ...settings, retired, message };
    return { stage, shownBefore, known };
  } finally {
    await server.stop();
    await receiver.close();
  }
}

/** Of what needs a person, one thing is done: the refused SETTLE of the cashout that was given back. */
async function dismissOne(stage: Stage): Promise<void> {
  const listed = JSON.stringify(await stage.command(['attention']));
  const id = /"id":"(msg_[0-9a-f]+)"[^{}]*"what":"SETTLE/.exec(listed)?.[1];
  if (id === undefined) throw new Error('no refused SETTLE is listed');
  await stage.command(['attention', 'done', id]);
}

/** Plays, keeps and asks: the folder that is kept. */
async function make(build: string, name: string, variant: Variant): Promise<string> {
  const played = await play(build, name, variant);
  const contents = await variant.place.look();
  const kept = await temporaryFolder();
  await variant.place.keep(kept);
  // What became of the last ones must be long enough ago to count as stuck.
  await sleep((STUCK_AFTER_S + 1) * 1_000);
  const env = { LOG_LEVEL: 'warn', STUCK_AFTER_S: String(STUCK_AFTER_S), ...(await variant.copy(kept)) };
  const ask: Ask = (...args) => runCommand(build, env, args);
  const answers: Kept = await collectAnswers({ ...played, contents }, ask);
  const absent = missing(answers, contents);
  if (absent.length > 0) throw new Error(`the ${variant.store} has not: ${absent.join(', ')}`);
  await writeAnswers(kept, answers);
  return kept;
}

async function makeBoth(build: string, name: string): Promise<void> {
  const variants = [await folderVariant(), await databaseVariant(build)];
  const kept: { from: string; to: string }[] = [];
  try {
    for (const variant of variants) {
      process.stdout.write(`${variant.store} of ${name}\n`);
      kept.push({ from: await make(build, name, variant), to: keptIn(name, variant.store) });
    }
    process.stdout.write('waiting until all that is due soon is due\n');
    await sleep(ALL_DUE_MS);
    for (const { from, to } of kept) {
      await rm(to, { recursive: true, force: true });
      await mkdir(to, { recursive: true });
      await cp(from, to, { recursive: true });
    }
  } finally {
    for (const { from } of kept) await rm(from, { recursive: true, force: true });
    for (const variant of variants) await variant.remove();
  }
}

const [build, name] = process.argv.slice(2);
if (build === undefined || name === undefined || !/^[\w.-]+$/.test(name)) {
  process.stderr.write('usage: older-build.ts BUILD NAME, on a server of MONGODB_TEST_URI\n');
  process.exitCode = 2;
} else {
  await makeBoth(resolve(build), name);
}
