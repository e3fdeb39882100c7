/** What the older build answers about what it left, on a copy of it; and whether that holds all that there is. */
import { isDeepStrictEqual } from 'node:util';
import { at, type Json, list, object, text } from '../../test/support/json.ts';
import { countDeliveries, type Kept, type KeptTransaction } from '../../test/support/older-build.ts';
import type { Contents } from './places.ts';
import type { Stage } from './stage.ts';

/** What the stage and the crash leave for the answers. */
export interface Left {
  stage: Stage;
  contents: Contents;
  /** Bodies before the last flood, by the transaction's id. */
  shownBefore: Map<string, Json>;
  known: Pick<Kept, 'build' | 'killedAt' | 'receiver' | 'secretsKey' | 'stuckAfterS' | 'retired' | 'message'>;
}

/** A command of the older build on the copy. */
export type Ask = (...args: string[]) => Promise<Json>;

/** Whose whole `inspect` is kept: what each way of storing might change. */
const INSPECTED = [
  'charge waiting, with all its fields',
  'charge paid, with all that a bank may say',
  'charge protest dismissed',
  'cashout failed, its start told late',
  'charge whose deliveries fail',
];

function merchantsOf({ cast }: Stage): Kept['merchants'] {
  return cast.all().map(([name, { accountId, clientId, clientSecret, webhooks }]) => {
    return { name, accountId, clientId, clientSecret, webhooks };
  });
}

function keptTransaction(left: Left, id: string, inspected: Json): KeptTransaction {
  const { stage, contents, shownBefore } = left;
  const told = stage.stories.get(id);
  const body = at(inspected, 'transaction');
  // The timer of a charge that was paid is still due, and changes nothing.
  const isWaiting = text(body, 'status') === 'waiting_payment';
  const before = shownBefore.get(id);
  if (before !== undefined && !isDeepStrictEqual(before, body))
    throw new Error(`${told?.story} is shown otherwise after the crash: ${JSON.stringify(body)}`);
  const ofFlood = stage.cast.of('flooded').accountId === contents.transactions.get(id) ? 'flooded' : null;
  return {
    story: told?.story ?? (ofFlood === null ? 'imported' : 'flood'),
    merchant: told?.merchant ?? ofFlood,
    id,
    type: text(body, 'type') === 'cashout' ? 'cashout' : 'pix-in',
    status: text(body, 'status'),
    moves: contents.due.some((due) => due.transaction === id && (due.kind !== 'timer' || isWaiting)),
    deliveries: countDeliveries(list(inspected, 'deliveries')),
  };
}

/** Asks for everything. */
export async function collectAnswers(left: Left, ask: Ask): Promise<Kept> {
  const transactions: KeptTransaction[] = [];
  const bodies: Record<string, Json> = {};
  const inspected: Record<string, Json> = {};
  for (const id of left.contents.transactions.keys()) {
    const document = await ask('inspect', id);
    const kept = keptTransaction(left, id, document);
    transactions.push(kept);
    bodies[id] = at(document, 'transaction');
    if (INSPECTED.includes(kept.story)) inspected[kept.story] = document;
  }
  const { heads, ...verified } = object(await ask('verify', '--heads', '--decide'));
  return {
    ...left.known,
    merchants: merchantsOf(left.stage),
    accounts: list(await ask('account', 'list'), 'accounts'),
    verified,
    heads: list(heads ?? null),
    attention: list(await ask('attention'), 'items'),
    transactions: transactions.sort((a, b) => (a.story < b.story ? -1 : 1)),
    bodies,
    inspected,
  };
}

const STATES = {
  'pix-in': [
    ...['waiting_payment', 'paid', 'in_analysis', 'refused', 'canceled', 'expired', 'failed', 'refunded'],
    ...['chargedback', 'in_protest'],
  ],
  cashout: ['pending', 'processing', 'completed', 'failed', 'rejected', 'cancelled'],
};
const DELIVERIES = ['pending', 'delivered', 'retrying', 'dead', 'rejected'];
const LISTED = ['stuck', 'refused', 'invalid', 'unknown', 'return', 'dead'];
const DUE = [
  'timer free',
  'timer parked',
  'bank free',
  'bank held',
  'bank parked',
  'delivery free',
  'delivery held',
];

function missingOf(what: string, wanted: readonly string[], found: Iterable<string>): string[] {
  const all = new Set(found);
  return wanted.filter((each) => !all.has(each)).map((each) => `${what} ${each}`);
}

/** What should have been reached and wasn't; empty where everything is there. */
export function missing({ transactions, attention }: Kept, contents: Contents): string[] {
  const ofType = (type: KeptTransaction['type']): string[] =>
    transactions.filter((transaction) => transaction.type === type).map(({ status }) => status);
  const listed = attention.map((item) => text(item, 'kind'));
  return [
    ...missingOf('pix-in', STATES['pix-in'], ofType('pix-in')),
    ...missingOf('cashout', STATES.cashout, ofType('cashout')),
    ...missingOf(
      'delivery',
      DELIVERIES,
      transactions.flatMap(({ deliveries }) => Object.keys(deliveries)),
    ),
    ...missingOf('attention', LISTED, listed),
    ...missingOf('attention', ['quarantined'], contents.attention),
    ...missingOf(
      'due',
      DUE,
      contents.due.map(({ kind, state }) => `${kind} ${state}`),
    ),
  ];
}
