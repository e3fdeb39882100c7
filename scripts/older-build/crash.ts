/**
 * The last scene: what nothing may be lost of. Records that can't be read, so that what is due of them is parked; what
 * is due later; deliveries in hand; at last a flood of cashouts, and a `kill -9` as soon as the first is answered.
 */
import { charge, shown, transfer } from '../../test/support/flows.ts';
import { type Json, list, text } from '../../test/support/json.ts';
import { until } from '../../test/support/wait.ts';
import { chargeDelivered, RETRY_AFTER_S } from './deliveries.ts';
import type { Place } from './places.ts';
import { type Stage, tellStory } from './stage.ts';

const SOON_MS = 20_000;
/** Cashouts that are asked for at once before the end. */
const FLOOD = 8;
/** Longer than the scene takes: what the sandbox tells later is due when the server dies. */
const LATER_MS = 45_000;
/** Seconds; the shortest expiry that a request may ask for. */
const SOON_S = 60;

/** By then everything is due that was due later, whenever the server was killed. */
export const ALL_DUE_MS = Math.max(LATER_MS, SOON_S * 1_000, RETRY_AFTER_S * 1_000) + 5_000;

/** A timer and an order that are parked, since their transactions can't be read; what makes them readable again. */
async function park(stage: Stage, place: Place): Promise<() => Promise<void>> {
  const quick = stage.cast.of('quick');
  await stage.server.restart({ SANDBOX_DELAY_MS: '4000' });
  const ids = await Promise.all([
    charge(quick, 4_300).then((created) =>
      tellStory(stage, 'quick', 'charge whose expiry is parked', created),
    ),
    transfer(quick, 2_301).then((created) =>
      tellStory(stage, 'quick', 'cashout whose order is parked', created),
    ),
  ]);
  await stage.server.terminate();
  const mend = await place.spoil(ids);
  await stage.server.restart({ SANDBOX_DELAY_MS: String(LATER_MS) });
  await until(
    async () => {
      const items = list(await stage.command(['attention']), 'items');
      return items.filter((item) => text(item, 'kind') === 'quarantined').length === ids.length;
    },
    SOON_MS,
    'quarantined transactions',
  );
  return mend;
}

/** What is due soon after the end. */
async function playLater(stage: Stage): Promise<void> {
  await chargeDelivered(stage, 'patient', 'charge whose deliveries are tried again', [
    'retrying',
    'retrying',
  ]);
  const { shop, rotated } = { shop: stage.cast.of('shop'), rotated: stage.cast.of('rotated') };
  const soon = await charge(rotated, 6_600, { expiresIn: SOON_S });
  tellStory(stage, 'rotated', 'charge that expires soon', soon);
  tellStory(stage, 'rotated', 'charge that is paid soon', await charge(rotated, 6_601));
  tellStory(stage, 'shop', 'cashout that is completed soon', await transfer(shop, 2_401));
}

async function playHung(stage: Stage): Promise<void> {
  const hung = stage.cast.of('hung');
  const id = tellStory(stage, 'hung', 'charge whose deliveries are in hand', await charge(hung, 7_700));
  await stage.receiver.waitForCount('/hung', 1, SOON_MS);
  const { status, text: answer } = await hung.post(`/sandbox/pix-in/${id}/pay`, {});
  if (status !== 200) throw new Error(`a payment was answered ${status}: ${answer}`);
}

/** Each told transaction as its GET shows it now. */
async function bodies(stage: Stage): Promise<Map<string, Json>> {
  const all = new Map<string, Json>();
  for (const [id, { merchant, story }] of stage.stories) {
    const kind = story.startsWith('cashout') ? 'cashout' : 'pix-in';
    all.set(id, await shown(stage.cast.of(merchant), kind, id));
  }
  return all;
}

/** Asks for all at once; the server is gone before the most of them are answered. */
async function floodAndKill(stage: Stage): Promise<void> {
  const flooded = stage.cast.of('flooded');
  const asked = Array.from({ length: FLOOD }, (_, index) =>
    transfer(flooded, 3_301, { idempotencyKey: `flood ${index + 1}` }),
  );
  await Promise.any(asked);
  await stage.server.kill();
  // The others may be answered or not: what became of them, the store tells.
  await Promise.allSettled(asked);
}

/** Plays it; the transactions as they were shown before the flood. */
export async function crash(stage: Stage, place: Place): Promise<Map<string, Json>> {
  const mend = await park(stage, place);
  await playLater(stage);
  await playHung(stage);
  const before = await bodies(stage);
  await floodAndKill(stage);
  await mend();
  return before;
}
