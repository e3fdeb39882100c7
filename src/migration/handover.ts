/**
 * Hands an account over once its copy is verified. The order keeps it from acting in two places, wherever a run
 * dies; the next one goes on from there:
 *
 * 1. Its settings go to the target, with no address allowed: nobody gets in yet (`close`).
 * 2. It is switched off in the source: from here on the target has it (`switchOff`).
 * 3. What is due follows, then what needs a person.
 * 4. It is marked in the source as handed over (`mark`). Not sooner: what is due of it there is dropped from then on.
 * 5. The target lets its addresses in (`open`).
 */
import type { Account } from '../domain/account.ts';
import type { Store } from '../engine/store.ts';
import { MigrationRefused } from './refused.ts';
import type { Stores } from './stores.ts';
import { isOff } from './survey.ts';

export type Reseal = (sealed: string) => string;

const TRIES = 10;

function resealed({ handedOver: _handedOver, ...account }: Account, reseal: Reseal): Account {
  const webhooks = account.webhooks.map((webhook) => ({
    ...webhook,
    secrets: webhook.secrets.map((secret) => ({ ...secret, sealed: reseal(secret.sealed) })),
  }));
  return { ...account, webhooks };
}

/** Reads, changes and writes until nobody else was first; null: as it is. */
async function change(
  store: Store,
  id: string,
  changed: (account: Account) => Account | null,
): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const account = await store.accounts.get(id);
    const next = account === null ? null : changed(account);
    if (account === null || next === null) return;
    if (await store.accounts.put({ ...next, version: account.version + 1 })) return;
  }
  throw new MigrationRefused('SOURCE_CHANGED', `the settings of ${id} are being changed by somebody else`);
}

/** Puts the settings into the target, where there are none; they let nobody in. */
export async function close({ source, target }: Stores, id: string, reseal: Reseal): Promise<void> {
  const account = await source.accounts.get(id);
  if (account === null || (await target.accounts.get(id)) !== null) return;
  if (await target.accounts.put({ ...resealed(account, reseal), allowedIps: [], version: 1 })) return;
  if ((await target.accounts.get(id)) !== null) return;
  throw new MigrationRefused('TARGET_CONFLICT', `the target does not take the settings of ${id}`);
}

/**
 * Switches the account off in the source, and makes sure that it has acted no more since it was copied.
 * @throws MigrationRefused SOURCE_CHANGED
 */
export async function switchOff({ source, target }: Stores, id: string): Promise<void> {
  await change(source, id, (account) =>
    isOff(account) ? null : { ...account, status: 'inactive', userStatus: 'inactive' },
  );
  const [here, there] = await Promise.all([source.journal.head(id), target.journal.head(id)]);
  if (here.seq <= there.seq) return;
  throw new MigrationRefused(
    'SOURCE_CHANGED',
    `somebody wrote to ${id} while it was moved: give the same command again, and it goes on`,
  );
}

/**
 * From here on the source does nothing for it, not even where what was due, and was moved, is made again from the log.
 * One that was taken up again there meanwhile stays unmarked.
 */
export async function mark({ source }: Stores, id: string): Promise<void> {
  await change(source, id, (account) =>
    account.handedOver === true || !isOff(account) ? null : { ...account, handedOver: true },
  );
}

/** Lets merchants in. Settings that somebody changed in the target stay, all but the addresses. */
export async function open({ source, target }: Stores, id: string, reseal: Reseal): Promise<void> {
  const here = await source.accounts.get(id);
  if (here === null || here.allowedIps.length === 0) return;
  const { allowedIps } = here;
  await change(target, id, (there) => {
    if (there.allowedIps.length > 0) return null;
    if (there.version > 1) return { ...there, allowedIps };
    // The source has what ops changed since; whether it is active only the target still knows.
    return { ...resealed(here, reseal), status: there.status, userStatus: there.userStatus };
  });
}
