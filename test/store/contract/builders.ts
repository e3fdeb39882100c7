/** Makes entries, appends and settings for tests; what an append projects is derived as the engine derives it. */
import { randomUUID } from 'node:crypto';
import type { Account } from '../../../src/domain/account.ts';
import type { JournalEvent } from '../../../src/domain/events.ts';
import { DEMO_FEES } from '../../../src/domain/fees.ts';
import { applyPostings, type Posting } from '../../../src/domain/money.ts';
import type { Charge, Metadata, Transfer } from '../../../src/domain/transactions.ts';
import type {
  BankOrder,
  Entry,
  Head,
  JournalMessage,
  Timer,
  TransactionRecord,
} from '../../../src/engine/journal.ts';
import { lookupsOf } from '../../../src/engine/lookups.ts';
import { attentionItems, dueOf, project } from '../../../src/engine/project.ts';
import { contentOf, digestOf, sha256 } from '../../../src/engine/store/content.ts';
import type { DeliveryRecord } from '../../../src/engine/store/deliveries.ts';
import type { ClaimOf, Due } from '../../../src/engine/store/due.ts';
import type { Append, AttentionKey, Store } from '../../../src/engine/store.ts';

/** ISO 8601 with milliseconds. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function message(type: string, door: JournalMessage['door'], data: object = {}, id: string = randomUUID()) {
  return { id, type, data, door, digest: digestOf(type, data) } satisfies JournalMessage;
}

function eventTo(name: string, urls: readonly string[]): JournalEvent {
  const deliveries = urls.map((url) => ({ id: `dlv_${randomUUID()}`, url, after: null }));
  return { id: `evt_${randomUUID()}`, name, deliveries };
}

function blank(at: number, parts: Pick<Entry, 'transaction' | 'type' | 'message'> & Partial<Entry>): Entry {
  return {
    at: iso(at),
    from: null,
    to: null,
    refusal: null,
    code: null,
    snapshot: null,
    postings: [],
    events: [],
    timers: null,
    orders: [],
    attention: null,
    ...parts,
  };
}

/** What a test may choose about a created transaction; the rest is made up. */
export interface CreatedParts {
  id?: string;
  amount?: number;
  externalRef?: string | null;
  idempotencyKey?: string | null;
  description?: string | null;
  metadata?: Metadata;
  urls?: readonly string[];
  timers?: Timer[];
  orders?: BankOrder[];
  attention?: Entry['attention'];
}

/** The first entry of a charge. Without `timers` and `urls` nothing becomes due. */
export function chargeCreated(at: number, parts: CreatedParts = {}): Entry & { transaction: string } {
  const id = parts.id ?? randomUUID();
  const amount = parts.amount ?? 10_000;
  const context: Charge = {
    amount,
    fee: { totalFee: 100, netAmount: amount - 100 },
    externalRef: parts.externalRef ?? null,
    description: parts.description ?? null,
    additionalInfo: null,
    customer: null,
    metadata: parts.metadata ?? {},
    qrcode: `00020126${id}`,
    createdAt: iso(at),
    expiresAt: iso(at + 3_600_000),
    endToEndId: null,
    paidAt: null,
    held: null,
  };
  const entry = blank(at, {
    transaction: id,
    type: 'pix-in',
    message: message('CREATE', 'api', { amount }),
    to: 'waiting_payment',
    snapshot: { machine: 'pix-in', version: '1', value: 'waiting_payment', context },
    events: [eventTo('pix-in.waiting_payment', parts.urls ?? [])],
    timers: parts.timers ?? [],
    orders: parts.orders ?? [],
    attention: parts.attention ?? null,
  });
  return { ...entry, transaction: id };
}

/** A charge's payment: 99 % to the merchant. `messageId` is the bank's. */
export function chargePaid(
  at: number,
  id: string,
  endToEndId: string,
  messageId: string = randomUUID(),
): Entry {
  const postings: Posting[] = [
    { leg: 'bank', amount: -10_000 },
    { leg: 'available', amount: 9_900 },
    { leg: 'fees', amount: 100 },
  ];
  return blank(at, {
    transaction: id,
    type: 'pix-in',
    message: message('PAY', 'bank', { endToEndId }, messageId),
    from: 'waiting_payment',
    to: 'paid',
    snapshot: { machine: 'pix-in', version: '1', value: 'paid', context: { endToEndId, paidAt: iso(at) } },
    postings,
    events: [eventTo('pix-in.paid', [])],
    timers: [],
  });
}

/** The first entry of a cashout. Without `orders` nothing becomes due. */
export function cashoutCreated(at: number, parts: CreatedParts = {}): Entry & { transaction: string } {
  const id = parts.id ?? randomUUID();
  const amount = parts.amount ?? 1_000;
  const context: Transfer = {
    amount,
    fee: { totalFee: 50, netAmount: amount - 50 },
    idempotencyKey: parts.idempotencyKey ?? null,
    externalRef: parts.externalRef ?? null,
    description: parts.description ?? null,
    metadata: parts.metadata ?? {},
    pixKeyType: 'EMAIL',
    pixKey: 'someone@example.com',
    createdAt: iso(at),
    reference: null,
    paidAt: null,
    startImplied: false,
  };
  const entry = blank(at, {
    transaction: id,
    type: 'cashout',
    message: message('CREATE', 'api', { amount }),
    to: 'pending',
    snapshot: { machine: 'cashout', version: '1', value: 'pending', context },
    postings: [
      { leg: 'available', amount: -(amount + 50) },
      { leg: 'clearing', amount },
      { leg: 'fees', amount: 50 },
    ],
    events: [eventTo('cashout.pending', parts.urls ?? [])],
    timers: parts.timers ?? [],
    orders: parts.orders ?? [],
    attention: parts.attention ?? null,
  });
  return { ...entry, transaction: id };
}

/** A cashout's later state, without postings. */
export function cashoutMoved(at: number, id: string, from: string, to: string, changes: object = {}): Entry {
  return blank(at, {
    transaction: id,
    type: 'cashout',
    message: message(to.toUpperCase(), 'bank'),
    from,
    to,
    snapshot: { machine: 'cashout', version: '1', value: to, context: changes },
    events: [eventTo(`cashout.${to}`, [])],
  });
}

/** A charge's later state, without postings. */
export function chargeMoved(at: number, id: string, from: string, to: string): Entry {
  return blank(at, {
    transaction: id,
    type: 'pix-in',
    message: message(to.toUpperCase(), 'bank'),
    from,
    to,
    snapshot: { machine: 'pix-in', version: '1', value: to, context: {} },
  });
}

/** A message from the bank that the chart didn't take. */
export function refused(at: number, id: string, state: string, messageId: string): Entry {
  return blank(at, {
    transaction: id,
    type: 'pix-in',
    message: message('APPROVE', 'bank', {}, messageId),
    from: state,
    to: state,
    refusal: 'The charge is not in analysis.',
    code: 'MESSAGE_NOT_ACCEPTED',
  });
}

/** A correction of the balance, in cents. */
export function adjusted(at: number, amount: number, messageId: string = randomUUID()): Entry {
  return blank(at, {
    transaction: null,
    type: null,
    message: message('ADJUST', 'ops', { amount }, messageId),
    postings: [
      { leg: 'available', amount },
      { leg: 'bank', amount: -amount },
    ],
  });
}

/** What a test may choose about an append. */
export interface AppendParts {
  /** Records of the transactions that these entries change; `seq` instead of the head's plus one. */
  known?: readonly TransactionRecord[];
  batchId?: string;
  seq?: number;
  claimUntil?: number;
  withdrawn?: AttentionKey[];
  ends?: ClaimOf<'bank'>[];
  /** What is due in place of what the entries say. */
  instead?(due: Due): Due | null;
}

/** The append of these entries after a head: chained, hashed and projected as the engine does it. */
export function appendAfter(account: string, head: Head, entries: Entry[], parts: AppendParts = {}): Append {
  const seq = parts.seq ?? head.seq + 1;
  const records = new Map((parts.known ?? []).map((record) => [record.id, record]));
  const changed = new Map<string, TransactionRecord>();
  let balances = head.balances;
  for (const entry of entries) {
    balances = applyPostings(balances, entry.postings);
    if (entry.transaction === null) continue;
    const record = project(records.get(entry.transaction) ?? null, account, seq, entry);
    records.set(record.id, record);
    changed.set(record.id, record);
  }
  const at = entries.at(-1)?.at ?? head.at;
  const unhashed = {
    account,
    seq,
    id: parts.batchId ?? randomUUID(),
    at,
    entries,
    balances,
    previous: head.hash,
  };
  const content = contentOf(unhashed);
  return {
    batch: { ...unhashed, hash: sha256(content) },
    content,
    records: [...changed.values()],
    lookups: entries.flatMap(lookupsOf),
    due: entries.flatMap((entry) => dueOf(account, entry, 0)).map(parts.instead ?? ((due) => due)),
    attention: entries.flatMap((entry) =>
      attentionItems(account, entry, changed.get(entry.transaction ?? '') ?? null),
    ),
    withdrawn: parts.withdrawn ?? [],
    claimUntil: parts.claimUntil ?? 0,
    ...(parts.ends === undefined ? {} : { ends: parts.ends }),
  };
}

/** The head that an append leaves. */
export const headAfter = ({ batch: { seq, at, balances, hash } }: Append): Head => ({
  seq,
  at,
  balances,
  hash,
});

/** Appends the entries at the store's head and gives what was appended, with the claims; throws where it is stale. */
export async function grow(store: Store, account: string, entries: Entry[], parts: AppendParts = {}) {
  const append = appendAfter(account, await store.journal.head(account), entries, parts);
  const result = await store.journal.append(append);
  if (result.outcome === 'stale') throw new Error('another batch was first, where nobody else writes');
  return { append, claims: result.claims, ended: result.ended ?? [] };
}

/** The progress of a delivery after one failed attempt. */
export function deliveryRecord(account: string, transaction: string, at: number, id = `dlv_${randomUUID()}`) {
  return {
    id,
    account,
    transaction,
    status: 'retrying',
    failures: 1,
    attempts: [{ at: iso(at), statusCode: 500, error: null, durationMs: 12 }],
    nextAttemptAt: iso(at + 1_000),
    deliveredAt: null,
  } satisfies DeliveryRecord;
}

/** An account's settings, version 1. */
export function settings(parts: Partial<Account> = {}): Account {
  return {
    id: randomUUID(),
    version: 1,
    name: 'Padaria São João',
    clientId: `client_${randomUUID()}`,
    secretHash: sha256('secret'),
    status: 'active',
    userStatus: 'active',
    allowedIps: ['127.0.0.1'],
    webhooks: [
      {
        url: 'https://example.com/hooks?a=1&b=$x',
        events: ['pix-in.*', 'cashout.completed'],
        secrets: [{ sealed: 'c2VhbGVk', until: null }],
      },
    ],
    fees: DEMO_FEES,
    expiresIn: null,
    maxAmount: null,
    pixKey: 'loja@example.com',
    merchantName: 'PADARIA SAO JOAO',
    merchantCity: 'SAO PAULO',
    createdAt: iso(Date.UTC(2026, 0, 5, 12)),
    ...parts,
  };
}
