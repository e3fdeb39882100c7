/** Deliveries in every status; which receiver answers how. */
import { charge, deliveries } from '../../test/support/flows.ts';
import { at, list, text } from '../../test/support/json.ts';
import type { Receiver } from '../../test/support/receiver.ts';
import { until } from '../../test/support/wait.ts';
import type { MerchantName } from './cast.ts';
import { type Stage, tellStory } from './stage.ts';

const SOON_MS = 20_000;
/** Attempts in one round. */
const ROUND = 5;
/** What receivers ask for: longer than the rest of the recipe takes. */
export const RETRY_AFTER_S = 45;

/** The one answer that may ask for a time of its own. */
const AGAIN_LATER = { status: 429, headers: { 'retry-after': String(RETRY_AFTER_S) } };

/** How each path answers while the older build serves. */
export function answerDifferently(receiver: Receiver): void {
  receiver.answer('/down', () => ({ status: 500 }));
  receiver.answer('/gone', () => ({ status: 410 }));
  receiver.answer('/revived', (nth) => ({ status: nth > ROUND ? 200 : 502 }));
  receiver.answer('/leaving', () => ({ status: 429, headers: { 'retry-after': '2' } }));
  receiver.answer('/later', () => AGAIN_LATER);
  receiver.answer('/flaky', (nth) => (nth === 1 ? { status: 500 } : AGAIN_LATER));
  receiver.answer('/hung', () => ({ hang: true }));
}

/** Creates a charge and waits until its deliveries have come to these statuses, in the order of the words. */
export async function chargeDelivered(
  stage: Stage,
  merchant: MerchantName,
  story: string,
  statuses: readonly string[],
): Promise<string> {
  const client = stage.cast.of(merchant);
  const id = tellStory(stage, merchant, story, await charge(client, 3_300, { expiresIn: 2_592_000 }));
  await until(
    async () => {
      const found = (await deliveries(client, id)).map((delivery) => text(delivery, 'status'));
      return found.sort().join() === [...statuses].sort().join();
    },
    SOON_MS,
    `deliveries that are ${statuses.join(', ')}`,
  );
  return id;
}

/** Deliveries that come to rest: dead, rejected, revived, and dead since their URL was taken off. */
export async function playDeliveries(stage: Stage): Promise<void> {
  const { receiver, cast, command } = stage;
  const id = await chargeDelivered(stage, 'troubled', 'charge whose deliveries fail', [
    'dead',
    'dead',
    'rejected',
  ]);
  const failed = await deliveries(cast.of('troubled'), id);
  const revived = failed.find((delivery) => text(delivery, 'url') === receiver.url('/revived'));
  await command(['deliveries', 'retry', text(revived ?? null, 'id')]);
  await receiver.waitForCount('/revived', ROUND + 1, SOON_MS);

  await chargeDelivered(stage, 'leaving', 'charge whose URL was taken off', ['retrying']);
  await command([
    ...['account', 'set', cast.of('leaving').accountId],
    ...['--webhook-url', receiver.url('/instead')],
  ]);
  const isDead = async (): Promise<boolean> => {
    const items = list(await command(['attention']), 'items');
    return items.some((item) => String(at(item, 'what')).includes('/leaving'));
  };
  await until(isDead, SOON_MS, 'a dead delivery of a URL that is gone');
}
