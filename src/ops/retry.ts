/** Dead or rejected deliveries get a new round of attempts, whichever door of ops asks for it. */
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { transactionId } from '../engine/finding/find.ts';
import { deliveriesOf, takenBy } from '../engine/history.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import {
  type DeliveryRecord,
  type DeliveryStatus,
  type FailedFilter,
  failedAt,
  fitsFailed,
  hasFailed,
} from '../engine/store/deliveries.ts';
import type { AttentionKey, Settlement, Store } from '../engine/store.ts';
import { inTurn } from '../waiting.ts';
import { revived } from '../webhooks/delivery.ts';
import { rejectedKey } from '../webhooks/rejected.ts';
import { type Acting, isRecorded, type OpsParts, type Recorded, recordAll, tell } from './acting.ts';
import { type Failed, type FailedSources, fitting } from './failed.ts';
import { Touched } from './touched.ts';

/** So many ids are answered where none was asked for: an answer has its bound. */
export const MOST_ANSWERED = 10_000;

/** The outcome: how many deliveries start anew, perhaps none, or why nothing was changed at all. */
export type Retried =
  /** `deliveries`: those that were named by ids, else the first `MOST_ANSWERED`. */
  | { kind: 'retried'; count: number; deliveries: string[] }
  | { kind: 'noTransaction'; id: string }
  | { kind: 'noDelivery'; id: string }
  | { kind: 'noEvent'; id: string }
  /** The one delivery that was named is neither dead nor rejected. */
  | { kind: 'notDead'; id: string; account: string; status: DeliveryStatus };

type Sources = FailedSources & Pick<Store, 'due' | 'attention'>;

/**
 * The deliveries start a new round, due now: the server's next sweep takes them up. Those that have come further since
 * they were read are left alone. Gives those that were started.
 */
export function revive(store: Sources, failed: readonly Failed[], now: number): Promise<Failed[]> {
  // One after the other: of two that start the same delivery the second one finds it started. Another process's is
  // found by the store.
  return inTurn('revive', async () => {
    return start(store, await unchanged(store, failed), now);
  });
}

/** Those that still stand where they stood when they were read. */
async function unchanged({ journal }: Sources, failed: readonly Failed[]): Promise<Failed[]> {
  const present = new Map<string, DeliveryRecord>();
  for (const transaction of new Set(failed.map(({ record }) => record.transaction)))
    for (const record of await journal.deliveries(transaction)) present.set(record.id, record);
  return failed.filter(({ record: { id, status, attempts } }) => {
    const stands = present.get(id);
    return stands?.status === status && stands.attempts.length === attempts.length;
  });
}

/** Gives those that were started. */
async function start({ due, attention }: Sources, failed: readonly Failed[], now: number): Promise<Failed[]> {
  const starting = failed.flatMap((each): { each: Failed; settlement: Settlement }[] => {
    const { record, url } = each;
    const next = revived(record, now);
    if (next === null) return [];
    const { id, account, transaction } = record;
    const named = { account, transaction, delivery: id, ...(url === '' ? {} : { url }) };
    const item = { kind: 'delivery' as const, at: now, ...named, tries: 0 };
    const withdrawn = { kind: 'dead' as const, id };
    return [{ each, settlement: { claim: null, next: item, record: next, withdrawn, clock: now } }];
  });
  // Whoever is killed in between leaves items that count too many, and none that is missing.
  const counts = await due.settle(starting.map(({ settlement }) => settlement));
  const started = starting.filter((_, index) => counts[index]).map(({ each }) => each);
  for (const { key, count } of rejectedIn(started)) await attention.discount(key, count);
  return started;
}

/** In which items the rejected ones are counted, and how many in each. */
function rejectedIn(failed: readonly Failed[]): { key: AttentionKey; count: number }[] {
  const counts = new Map<string, { key: AttentionKey; count: number }>();
  for (const { record, url } of failed) {
    if (record.status !== 'rejected') continue;
    const key = rejectedKey({ account: record.account, url }, record);
    const known = counts.get(key.id);
    if (known === undefined) counts.set(key.id, { key, count: 1 });
    else known.count += 1;
  }
  return [...counts.values()];
}

async function hasEvent({ journal }: Sources, record: TransactionRecord, id: string): Promise<boolean> {
  return (await takenBy(journal, record)).some(({ entry }) => entry.events.some((event) => event.id === id));
}

/** The failed deliveries that an id names, or why there are none. */
async function failedOf(
  sources: Sources,
  id: string,
): Promise<{ kind: 'failed'; failed: Failed[] } | Exclude<Retried, { kind: 'retried' }>> {
  const { journal } = sources;
  const parsed = parseEventOrDeliveryId(id);
  const transaction = parsed === null ? transactionId(id) : parsed.transaction;
  const record = transaction === null ? null : await journal.transaction(transaction);
  if (record === null) return { kind: 'noTransaction', id };
  const named = (await deliveriesOf(journal, record)).filter(
    (delivery) => parsed === null || delivery.id === id || delivery.event.id === id,
  );
  const isDelivery = id.startsWith('dlv_');
  if (isDelivery && named.length === 0) return { kind: 'noDelivery', id };
  // One that went nowhere is an event, too.
  if (parsed !== null && named.length === 0 && !(await hasEvent(sources, record, id)))
    return { kind: 'noEvent', id };
  const urls = new Map(named.map((delivery) => [delivery.id, delivery.url]));
  const progress = (await journal.deliveries(record.id)).filter((delivery) => urls.has(delivery.id));
  const failed = progress
    .filter(hasFailed)
    .map((delivery) => ({ record: delivery, url: urls.get(delivery.id) ?? '' }));
  if (isDelivery && failed.length === 0)
    return { kind: 'notDead', id, account: record.account, status: progress[0]?.status ?? 'pending' };
  return { kind: 'failed', failed };
}

/** The failed deliveries that ids name, as far as they fit, in one page. */
async function* named(failed: readonly Failed[], filter: FailedFilter): AsyncGenerator<Failed[]> {
  const all = new Map<string, Failed>();
  for (const each of failed) if (fitsFailed(each, filter)) all.set(each.record.id, each);
  yield [...all.values()];
}

/** Whether the entry of an action that comes again still has the delivery to start: it failed before, and not since. */
function isOwed(record: DeliveryRecord, { at, applied }: Recorded): boolean {
  return applied || failedAt(record) <= at;
}

/**
 * Tries deliveries again: those that ids name (`dlv_...`, or all dead and rejected ones of an event, `evt_...`, or of a
 * transaction), as far as they fit, or without ids all that fit. Where one of the ids is nothing, nothing is changed.
 * What is tried again is what the accounts' entries tell of, which are written before.
 * @throws ActionRefused
 */
export async function retry(
  parts: OpsParts,
  ids: readonly string[],
  filter: FailedFilter,
  acting: Acting,
): Promise<Retried> {
  const { store, now } = parts;
  const { account: _account, ...own } = filter;
  const intent = { action: 'retry', asked: { ids, filter }, filter: own } as const;
  const failed: Failed[] = [];
  for (const id of ids) {
    const found = await failedOf(store, id);
    // What this very act has started anew is neither dead nor rejected any more.
    if (found.kind === 'notDead' && (await isRecorded(parts, found.account, intent, acting))) continue;
    if (found.kind !== 'failed') return found;
    failed.push(...found.failed);
  }
  const pages = (): AsyncGenerator<Failed[]> =>
    ids.length === 0 ? fitting(store, filter) : named(failed, filter);
  const touched = new Touched();
  for await (const page of pages()) for (const { record } of page) touched.add(record.account, record.id);
  const recorded = await recordAll(parts, intent, touched.accounts, acting);
  const retried: string[] = [];
  let count = 0;
  for await (const page of pages()) {
    const owed = page.filter(({ record }) => {
      const entry = recorded.get(record.account);
      return entry !== undefined && isOwed(record, entry) && touched.take(record.account, record.id);
    });
    const started = await revive(store, owed, now());
    count += started.length;
    const room = ids.length > 0 ? started.length : MOST_ANSWERED - retried.length;
    retried.push(...started.slice(0, room).map(({ record }) => record.id));
  }
  if (touched.accounts.size > 0) tell(parts, 'retry', touched.accounts.keys(), acting);
  return { kind: 'retried', count, deliveries: retried };
}
