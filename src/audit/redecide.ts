/**
 * Runs an entry's message through its chart again: the command is put together from what the entry says, decided
 * on the replay as it was before, and must give the same entry.
 */
import type { Account } from '../domain/account.ts';
import { isSameJson } from '../domain/canonical-json.ts';
import type { ReasonData, RefundOrderData } from '../domain/messages.ts';
import type { Balances } from '../domain/money.ts';
import { isTakenBackName } from '../domain/reversals/sums.ts';
import { timeOfText } from '../domain/time.ts';
import type { Charge, Transfer } from '../domain/transactions.ts';
import type { PayoutContract } from '../engine/bank.ts';
import { type Charts, chartsOf, PRESENT, versionOf, WITHOUT_RETURNS } from '../engine/chart.ts';
import type { Command, OpsAction, ReturnAgain, SentMessage } from '../engine/commands.ts';
import { decide } from '../engine/decide.ts';
import { type Circumstances, type Decision, signed } from '../engine/decision.ts';
import type { Entry, TransactionRecord } from '../engine/journal.ts';
import { chartData } from '../engine/payments.ts';
import type { Lookup, LookupName } from '../engine/store/lookups.ts';
import { Unread, Workspace, wantsOfAll } from '../engine/workspace.ts';

/** The account as it was before the entry. */
export interface Before {
  account: string;
  seq: number;
  balances: Balances;
  record: TransactionRecord | null;
  lookup(name: LookupName, key: string): Promise<string | null>;
}

function creation(id: string, entry: Entry): Command {
  const { createdAt, ...context } = (entry.snapshot as { context: object }).context as Charge & Transfer;
  if (entry.type === 'cashout') {
    const { reference: _reference, paidAt: _paidAt, startImplied: _startImplied, ...transfer } = context;
    return { kind: 'createTransfer', id, transfer };
  }
  const { expiresAt, endToEndId: _endToEndId, paidAt: _paidAt, held: _held, ...charge } = context;
  const wake = entry.orders.find((order) => order.kind === 'wake');
  const wakeInMs = wake === undefined ? null : timeOfText(wake.at) - timeOfText(entry.at);
  const expiresIn = (timeOfText(expiresAt) - timeOfText(createdAt)) / 1000;
  return { kind: 'createCharge', id, charge: { ...charge, expiresIn }, wakeInMs };
}

function sentMessage(record: TransactionRecord, entry: Entry): SentMessage {
  const { id, type, data: kept, digest, door } = entry.message;
  const sent = { transaction: record.id, door, id, type, kept, digest, ...signed(entry.message.by) };
  if (entry.attention?.kind === 'invalid')
    return { kind: 'invalidMessage', ...sent, problem: entry.refusal ?? '' };
  return { kind: 'message', ...sent, data: chartData(record, type, kept as Record<string, unknown>) };
}

/** What a merchant orders of a charge that exists; a refund may be ops' order, too. */
function orderOf(transaction: string, { type, data, digest, by }: Entry['message']): Command {
  if (type === 'REFUND_ORDER') {
    const { refundId, amount, reason, idempotencyKey } = data as RefundOrderData;
    const ops = by === undefined ? {} : { ops: { digest, by } };
    return { kind: 'refund', transaction, refundId, amount, reason, idempotencyKey, ...ops };
  }
  return { kind: 'cancel', transaction, reason: (data as ReasonData).reason ?? null };
}

/** What ops did to the account itself. */
function commandOfOps({ id, type, data, digest, by }: Entry['message']): Command {
  if (type === 'OPS' && by !== undefined)
    return { kind: 'act', id, digest, by, ...(data as { action: OpsAction; data: object }) };
  const { amount, reason } = data as { amount: number; reason: string };
  // Whether it might go below zero is not kept: it went there.
  return { kind: 'adjust', id, amount, reason, allowNegative: true, digest, ...signed(by) };
}

function commandOf(before: Before, entry: Entry): Command {
  const { message, transaction } = entry;
  if (transaction === null) return commandOfOps(message);
  if (before.record === null) return creation(transaction, entry);
  if (message.type === 'RETURN_AGAIN')
    return {
      ...{ kind: 'returnAgain', transaction, ...(message.data as ReturnAgain), ...signed(message.by) },
    };
  // As a message of the bank's or of `pixstate send` it is refused.
  const isOpsRefund = message.type === 'REFUND_ORDER' && message.door === 'ops' && entry.refusal === null;
  if (message.door === 'api' || isOpsRefund) return orderOf(transaction, message);
  if (message.door !== 'clock') return sentMessage(before.record, entry);
  if (message.type === 'SUBMIT')
    return { kind: 'submit', transaction, contract: message.data as PayoutContract };
  // That its time had come, the clock knew alone.
  const ahead = Number.MAX_SAFE_INTEGER;
  return { kind: 'timer', transaction, name: message.id, at: timeOfText(entry.at), ahead };
}

/** URLs with filters that give the deliveries that the entry names, in its order. */
function webhooksOf(entry: Entry): Account['webhooks'] {
  const wanted = new Map<string, string[]>();
  const order: string[] = [];
  for (const { name, deliveries } of entry.events) {
    let at = 0;
    for (const { url } of deliveries) {
      const known = order.indexOf(url);
      if (known === -1) order.splice(at, 0, url);
      at = (known === -1 ? at : known) + 1;
      wanted.set(url, [...(wanted.get(url) ?? []), name]);
    }
  }
  return order.map((url) => ({ url, events: wanted.get(url) ?? [], secrets: [] }));
}

/** The messages that may bear the bank's id of a return that a charge had before. */
const GOES_BACK: ReadonlySet<string> = new Set(['REFUND', 'CHARGEBACK', 'REFUND_DONE', 'REFUND_FAILED']);

/**
 * The charts that an entry may have been decided with, the likeliest first: those of the version that its snapshot
 * bears. One without a snapshot changed nothing: where its transaction was of a former version, either may have refused
 * it; and one about what goes back of a charge may be of a build that knew no refund by the bank's id of it. None: they
 * are gone with their code.
 */
function chartsFor(record: TransactionRecord | null, entry: Entry): Charts[] {
  const snapshot = entry.snapshot ?? record?.snapshot ?? null;
  if (entry.type === null || snapshot === null || snapshot.version === versionOf(entry.type))
    return GOES_BACK.has(entry.message.type) ? [PRESENT, WITHOUT_RETURNS] : [PRESENT];
  const former = chartsOf(snapshot.version);
  if (former === null) return [];
  return entry.snapshot === null ? [former, PRESENT] : [former];
}

/** Whether the charts are known that the entry was decided with. */
export function isDecidable(record: TransactionRecord | null, entry: Entry): boolean {
  return chartsFor(record, entry).length > 0;
}

function differing(entry: Entry, again: Entry): string {
  const names = Object.keys(again) as (keyof Entry)[];
  return names.filter((name) => !isSameJson(entry[name] ?? null, again[name] ?? null)).join(', ');
}

/** What is decided on the account as it was; where a lookup is asked for that wasn't read, it is, and it is decided anew. */
async function decidedOn(before: Before, command: Command, circumstances: Circumstances): Promise<Decision> {
  // Whether a refused message is recorded depends on how many were: this one was, and former builds counted none.
  const record = before.record === null ? null : { ...before.record, refusals: 0 };
  const { transactions, lookups: likely } = wantsOfAll([command]);
  const lookUp = ({ name, key }: Lookup): Promise<string | null> => before.lookup(name, key);
  const wants = { transactions, lookups: [...likely] };
  const reads = {
    transactions: transactions.map(() => record),
    lookups: await Promise.all(likely.map(lookUp)),
  };
  for (;;) {
    const workspace = new Workspace(before.account, before.seq, before.balances, {
      wants,
      reads,
      text: null,
    });
    try {
      return decide(workspace, command, circumstances);
    } catch (error) {
      if (!(error instanceof Unread)) throw error;
      wants.lookups.push(error.lookup);
      reads.lookups.push(await lookUp(error.lookup));
    }
  }
}

/** The difference when the entry is decided again; null where it is the same to the byte. */
export async function decideAgain(
  before: Before,
  entry: Entry,
  everyDoorSpeaks: boolean,
): Promise<string | null> {
  const command = commandOf(before, entry);
  let first: string | null = null;
  for (const charts of chartsFor(before.record, entry)) {
    const circumstances: Circumstances = {
      at: entry.at,
      now: timeOfText(entry.at),
      // That a charge wasn't too old to be refunded, the clock knew alone.
      clock: entry.message.type === 'REFUND_ORDER' ? 0 : timeOfText(entry.at),
      webhooks: webhooksOf(entry),
      everyDoorSpeaks,
      charts,
    };
    const difference = differenceOf(entry, await decidedOn(before, command, circumstances));
    if (difference === null) return null;
    first ??= difference;
  }
  return first;
}

/** The bank's ids of what it took back, as an entry's context has them. */
function takenBackIn({ snapshot }: Entry): string[] {
  return Object.keys(snapshot?.context ?? {}).filter(isTakenBackName);
}

/** What is decided now, without what the build didn't write that decided it before: codes, the bank's ids of returns. */
function asFormerly(entry: Entry, again: Entry): Entry {
  const former = { ...again };
  if (former.snapshot !== null && takenBackIn(entry).length === 0) {
    const added = new Set(takenBackIn(again));
    const kept = Object.entries(former.snapshot.context).filter(([name]) => !added.has(name));
    former.snapshot = { ...former.snapshot, context: Object.fromEntries(kept) };
  }
  if (entry.code === null) former.code = null;
  if (again.attention !== null && entry.attention !== null && entry.attention.code === undefined) {
    const { kind, id, what, next } = again.attention;
    former.attention = { kind, id, what, next };
  }
  return former;
}

function differenceOf(entry: Entry, { answer, taken }: Decision): string | null {
  if (taken === null) return `decided again, ${entry.message.type} gives no entry (${answer.kind})`;
  const again = asFormerly(entry, taken.entry);
  if (isSameJson(again, entry)) return null;
  return `decided again, ${entry.message.type} gives other ${differing(entry, again)}`;
}
