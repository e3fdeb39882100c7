/**
 * What ops do that is no message. Before it is done it has an entry in the journal of each account that it touches: who
 * does it, why, and what it comes to. Under one id there is one entry, and what it tells of is done once.
 */
import type { By } from '../domain/messages.ts';
import type { OpsAction } from '../engine/commands.ts';
import type { Engine } from '../engine/engine.ts';
import { actionMark, lookUp } from '../engine/lookups.ts';
import { digestOf } from '../engine/store/content.ts';
import type { Store } from '../engine/store.ts';

/** Who does something, and under which id. */
export interface Acting {
  id: string;
  by: By;
}

/** What was done, for the log. */
export interface Act extends By {
  action: OpsAction | 'create';
  id: string;
  /** The first hundred of the accounts that it touches. */
  accounts: string[];
  /** The first hundred of the items that belong to no account. */
  items?: string[];
}

export interface OpsParts {
  store: Store;
  engine: Engine;
  now(): number;
  /** Tells the log. */
  acted(act: Act): void;
}

/** The entry of an action in an account's journal; `applied`: it was written now. */
export interface Recorded {
  /** ISO 8601. */
  at: string;
  applied: boolean;
}

/** The id was applied with something else: nothing is done. */
export class ActionRefused extends Error {}

/** So many ids are named; of more only how many they are. */
export const MOST_NAMED = 100;
/** Entries that are written at the same time. */
const TOGETHER = 100;

/** What an action is to do: what was `asked` for, which one id stands for, and the `data` of an account's entry. */
export interface Intent {
  action: OpsAction;
  asked: object;
}

function digestOfIntent({ action, asked }: Intent): string {
  return digestOf('OPS', { action, asked });
}

/** What tells an action from all others: its id, and what it was asked for. */
export function markOf(intent: Intent, { id }: Acting): string {
  return `${digestOfIntent(intent)} ${id}`;
}

/** Whether an action has its entry in an account's journal already. */
export async function isRecorded(
  { store }: Pick<OpsParts, 'store'>,
  account: string,
  intent: Intent,
  { id }: Acting,
): Promise<boolean> {
  const mark = await lookUp(store.journal, account, 'adjustment', id);
  return mark?.startsWith(actionMark(digestOfIntent(intent), '')) === true;
}

/** Writes an action's entry into an account's journal. @throws ActionRefused */
export async function record(
  { engine }: Pick<OpsParts, 'engine'>,
  account: string,
  intent: Intent,
  data: object,
  { id, by }: Acting,
): Promise<Recorded> {
  const { action } = intent;
  const digest = digestOfIntent(intent);
  const weight = 1024 + JSON.stringify(data).length;
  const answer = await engine.send(account, { kind: 'act', id, action, data, digest, by }, { weight });
  if (answer.kind === 'acted') return { at: answer.at, applied: answer.applied };
  if (answer.kind === 'notActed') throw new ActionRefused(answer.reason);
  throw new Error(`an action was answered ${answer.kind}`);
}

/** What an action touches of an account: how many things, and which, where they are few enough to be named. */
export interface TouchedOf {
  count: number;
  ids: readonly string[] | null;
}

/** So many of an account's, by their ids. */
export function touchedOf(ids: ReadonlySet<string>, count: number): TouchedOf {
  return { count, ids: ids.size <= MOST_NAMED ? [...ids] : null };
}

/**
 * Writes an action's entries into the journals of all accounts that it touches; `touched` has what it touches of each.
 * @throws ActionRefused: nothing is to be done, though some entries may be there
 */
export async function recordAll(
  parts: OpsParts,
  intent: Intent & { filter: object },
  touched: ReadonlyMap<string, TouchedOf>,
  acting: Acting,
): Promise<Map<string, Recorded>> {
  const recorded = new Map<string, Recorded>();
  const accounts = [...touched.keys()];
  for (let from = 0; from < accounts.length; from += TOGETHER) {
    const some = accounts.slice(from, from + TOGETHER);
    await Promise.all(
      some.map(async (account) => {
        const { ids, count } = touched.get(account) ?? { ids: [], count: 0 };
        const data = { ...intent.filter, ...(ids === null ? {} : { ids }), count };
        recorded.set(account, await record(parts, account, intent, data, acting));
      }),
    );
  }
  return recorded;
}

/** Tells the log of an action, by the accounts that it touches. */
export function tell(
  parts: Pick<OpsParts, 'acted'>,
  action: Act['action'],
  accounts: Iterable<string>,
  { id, by }: Acting,
  items: readonly string[] = [],
): void {
  const named = items.length === 0 ? {} : { items: items.slice(0, MOST_NAMED) };
  parts.acted({ action, id, ...by, accounts: [...accounts].slice(0, MOST_NAMED), ...named });
}
