/** What ops do that is no message: settings and secrets changed, failed deliveries tried again, items done with. */
import { AccountMoved, DoneBefore } from '../../src/accounts/last-changes.ts';
import { AccountBusy, type AccountChanges, Accounts, type WebhookTarget } from '../../src/accounts/manage.ts';
import { parseEventOrDeliveryId } from '../../src/domain/events.ts';
import type { By } from '../../src/domain/messages.ts';
import type { Store } from '../../src/engine/store.ts';
import { ActionRefused, type OpsParts } from '../../src/ops/acting.ts';
import { finish } from '../../src/ops/attention.ts';
import { retry } from '../../src/ops/retry.ts';
import { changeSettings, rotateWebhookSecret } from '../../src/ops/settings.ts';
import { KEY, OTHER_KEY } from './bank/keys.ts';
import type { Did, OpsRequest } from './operations.ts';
import { type Process, SEALER, STUCK_AFTER_MS, type Surroundings } from './process.ts';

/** Who of ops does it all. */
export const BY: By = { name: 'ops', reason: null, role: 'operator' };
const FILTERS: readonly (string[] | null)[] = [
  null,
  ['pix-in.paid', 'cashout.*'],
  ['pix-in.*', 'refund.*'],
  ['refund.*', 'chargeback.booked', 'return.booked'],
];
const CHANCES = { settings: 10, rotate: 4, retry: 12, done: 6 };
/** Kinds of items that ops look at, and are done with. */
const KINDS = ['dead', 'refused', 'stuck'] as const;

/** The next act of ops on an account, under an id of its own. */
export function nextAct(around: Surroundings, account: string, id: string): OpsRequest {
  const { random } = around.world;
  const act = random.weighted(CHANCES);
  const kind = 'ops';
  switch (act) {
    case 'settings':
      return { kind, id, act, changes: newSettings(around, account) };
    case 'rotate': {
      const urls = around.stored.account(account)?.webhooks.map(({ url }) => url) ?? [];
      return { kind, id, act, url: random.pick([...urls, 'https://nowhere.example']) };
    }
    case 'retry':
      return { kind, id, act, ...whatToRetry(around, account) };
    case 'done':
      return { kind, id, act, ...whatIsDone(around, account) };
  }
}

/** Mostly the URLs that the account had at first, each with its filter; now and then another, or one less. */
function newSettings({ world, history, counterparty }: Surroundings, account: string): AccountChanges {
  const { random } = world;
  const first = history.first(account);
  const webhooks: WebhookTarget[] = [];
  for (const { url, events } of first)
    if (random.perMille(750))
      webhooks.push({ url, events: random.perMille(800) ? events : random.pick(FILTERS) });
  if (random.perMille(300))
    webhooks.push({ url: `https://more-${account.slice(0, 1)}.example`, events: random.pick(FILTERS) });
  const isKey = counterparty !== null && random.perMille(400);
  return { webhooks, ...(isKey ? { pixKey: random.pick([KEY, OTHER_KEY, null]) } : {}) };
}

function whatToRetry({ world, stored }: Surroundings, account: string): Pick<OpsRequest, 'ids' | 'filter'> {
  const { random } = world;
  const { found } = stored.failedDeliveries({ account }, null, 1_000);
  const how = random.pick(['delivery', 'event', 'transaction', 'url', 'all'] as const);
  if (found.length === 0 || how === 'all') return { ids: [], filter: { account } };
  const { record, url } = random.pick(found);
  if (how === 'url') return { ids: [], filter: { account, ...(url === null ? {} : { url }) } };
  if (how === 'transaction') return { ids: [record.transaction], filter: {} };
  const { event } = parseEventOrDeliveryId(record.id) ?? {};
  return { ids: [how === 'event' && event !== undefined ? event : record.id], filter: {} };
}

function whatIsDone({ world, stored }: Surroundings, account: string): Pick<OpsRequest, 'ids' | 'filter'> {
  const { random } = world;
  const kind = random.pick(KINDS);
  const items = stored.listed({ account, kind }, null);
  if (items.length === 0 || random.perMille(200)) return { ids: [], filter: { account, kind } };
  return { ids: [random.pick(items).id], filter: { kind } };
}

/** The methods of a role, that fail once the process has died: nobody else may wait for them then. */
function mortal<Role extends object>(role: Role, death: Promise<never>): Role {
  return new Proxy(role, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => Promise.race([method.apply(target, args), death]);
    },
  });
}

function partsOf(process: Process): OpsParts & { accounts: Accounts } {
  const { death, now } = process;
  const { store } = process;
  const roles: Pick<Store, 'journal' | 'due' | 'attention' | 'accounts' | 'marks'> = {
    journal: mortal(store.journal, death),
    due: mortal(store.due, death),
    attention: mortal(store.attention, death),
    accounts: mortal(store.accounts, death),
    marks: mortal(store.marks, death),
  };
  const accounts = new Accounts(roles.accounts, SEALER, now);
  const engine = mortal(process.engine, death);
  return { store: roles as Store, engine, now, acted: () => {}, accounts };
}

/** Does it. @throws StoreUnavailable, Overloaded: it may have been done, in part */
export async function actOf(process: Process, account: string, request: OpsRequest): Promise<Did> {
  const parts = partsOf(process);
  const acting = { id: request.id, by: BY };
  try {
    switch (request.act) {
      case 'settings':
        await changeSettings(parts, account, request.changes ?? {}, acting);
        return 'done';
      case 'rotate':
        return (await rotateWebhookSecret(parts, account, request.url ?? '', acting)) ? 'done' : 'nothing';
      case 'retry': {
        const retried = await retry(parts, request.ids ?? [], request.filter ?? {}, acting);
        return retried.kind === 'retried' ? 'done' : 'nothing';
      }
      case 'done': {
        const rule = { now: process.now(), stuckAfterMs: STUCK_AFTER_MS, says: () => null };
        const finished = await finish(parts, rule, request.ids ?? [], request.filter ?? {}, acting);
        return finished.kind === 'done' ? 'done' : 'nothing';
      }
    }
  } catch (error) {
    // Under this id it was done already, or others were first.
    const isNothing = [DoneBefore, AccountMoved, AccountBusy, ActionRefused].some(
      (each) => error instanceof each,
    );
    if (isNothing) return 'nothing';
    throw error;
  }
}
