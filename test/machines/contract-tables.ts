/**
 * The tables of the contract ("States and transitions", "Event kinds", "Delivery and retry") and of the
 * decisions ("States"), written down from those pages and from the design's table of messages. Nothing here is
 * derived from the statecharts: they are tested against it.
 */
import type { Posting } from '../../src/domain/money.ts';

/** Cents. */
export interface Money {
  amount: number;
  totalFee: number;
}

/** A line of a transition table. */
export interface Row {
  /** Null: the transaction is created. */
  from: string | null;
  /** The message that moves it (design, "Messages"). */
  message: string;
  to: string;
  /** What goes out, in order. */
  events: string[];
  /** What happens to the money; empty: nothing. */
  postings: (money: Money) => Posting[];
  /** The expiry timer: does it start, end, or stay what it was? */
  expiry: 'starts' | 'ends' | 'stays';
  /** Orders to the bank. */
  orders: string[];
}

/** A line of a state table. */
export interface StateRow {
  state: string;
  final: boolean;
  /** What the whole life of a transaction in this state has done to the balance. */
  balance: (money: Money) => number;
}

const NONE = (): Posting[] => [];

/** "Net amount credited to balance." */
const CREDIT = ({ amount, totalFee }: Money): Posting[] => [
  { leg: 'available', amount: amount - totalFee },
  { leg: 'fees', amount: totalFee },
  { leg: 'bank', amount: -amount },
];

/** "Net amount debited from balance." */
const DEBIT_NET = ({ amount, totalFee }: Money): Posting[] => [
  { leg: 'available', amount: totalFee - amount },
  { leg: 'fees', amount: -totalFee },
  { leg: 'bank', amount },
];

/** "Balance debited by amount plus fee." */
const DEBIT_GROSS = ({ amount, totalFee }: Money): Posting[] => [
  { leg: 'available', amount: -amount - totalFee },
  { leg: 'clearing', amount },
  { leg: 'fees', amount: totalFee },
];

/** "Full refund": of amount plus fee. */
const FULL_REFUND = ({ amount, totalFee }: Money): Posting[] => [
  { leg: 'available', amount: amount + totalFee },
  { leg: 'clearing', amount: -amount },
  { leg: 'fees', amount: -totalFee },
];

/** The payout has left; the balance was debited before. */
const SETTLEMENT = ({ amount }: Money): Posting[] => [
  { leg: 'clearing', amount: -amount },
  { leg: 'bank', amount },
];

function row(
  from: string | null,
  message: string,
  to: string,
  events: string[],
  parts: Partial<Row> = {},
): Row {
  return { from, message, to, events, postings: NONE, expiry: 'stays', orders: [], ...parts };
}

const ENDS = { expiry: 'ends' } as const;

/** "PIX IN states", "Transitions", and what the decisions add. */
export const PIX_IN_ROWS: readonly Row[] = [
  row(null, 'CREATE', 'waiting_payment', ['pix-in.waiting_payment'], { expiry: 'starts' }),
  row('waiting_payment', 'PAY', 'paid', ['pix-in.paid'], { postings: CREDIT, ...ENDS }),
  row('waiting_payment', 'EXPIRE', 'expired', ['pix-in.expired'], ENDS),
  row('waiting_payment', 'CANCEL', 'canceled', ['pix-in.canceled'], ENDS),
  row('waiting_payment', 'REFUSE', 'refused', ['pix-in.refused'], ENDS),
  row('waiting_payment', 'FAIL', 'failed', ['pix-in.failed'], ENDS),
  row('paid', 'REFUND', 'refunded', ['pix-in.refunded'], { postings: DEBIT_NET }),
  row('paid', 'CHARGEBACK', 'chargedback', ['pix-in.chargedback'], { postings: DEBIT_NET }),
  row('waiting_payment', 'HOLD', 'in_analysis', ['pix-in.in_analysis'], ENDS),
  row('in_analysis', 'APPROVE', 'paid', ['pix-in.paid'], { postings: CREDIT }),
  row('in_analysis', 'REFUSE', 'refused', ['pix-in.refused']),
  row('in_analysis', 'FAIL', 'failed', ['pix-in.failed']),
  row('paid', 'PROTEST', 'in_protest', ['pix-in.in_protest']),
  // "None (it was credited once already)"; "emits `pix-in.paid` again".
  row('in_protest', 'DISMISS', 'paid', ['pix-in.paid']),
  row('in_protest', 'CHARGEBACK', 'chargedback', ['pix-in.chargedback'], { postings: DEBIT_NET }),
  row('in_protest', 'REFUND', 'refunded', ['pix-in.refunded'], { postings: DEBIT_NET }),
];

const ZERO = (): number => 0;
const NET = ({ amount, totalFee }: Money): number => amount - totalFee;
const GROSS = ({ amount, totalFee }: Money): number => -amount - totalFee;

export const PIX_IN_STATES: readonly StateRow[] = [
  { state: 'waiting_payment', final: false, balance: ZERO },
  { state: 'paid', final: false, balance: NET },
  { state: 'in_analysis', final: false, balance: ZERO },
  { state: 'refused', final: true, balance: ZERO },
  { state: 'canceled', final: true, balance: ZERO },
  { state: 'expired', final: true, balance: ZERO },
  { state: 'failed', final: true, balance: ZERO },
  // Credited once, debited once.
  { state: 'refunded', final: true, balance: ZERO },
  { state: 'chargedback', final: true, balance: ZERO },
  { state: 'in_protest', final: false, balance: NET },
];

/** "Cashout states", "Transitions"; a result that overtakes the start goes through `processing`. */
export const CASHOUT_ROWS: readonly Row[] = [
  row(null, 'CREATE', 'pending', ['cashout.pending'], { postings: DEBIT_GROSS, orders: ['payout'] }),
  row('pending', 'START', 'processing', ['cashout.processing']),
  row('processing', 'SETTLE', 'completed', ['cashout.completed'], { postings: SETTLEMENT }),
  row('processing', 'FAIL', 'failed', ['cashout.failed'], { postings: FULL_REFUND }),
  row('pending', 'REJECT', 'rejected', ['cashout.rejected'], { postings: FULL_REFUND }),
  row('pending', 'CANCEL', 'cancelled', ['cashout.cancelled'], { postings: FULL_REFUND }),
  row('pending', 'SETTLE', 'completed', ['cashout.processing', 'cashout.completed'], {
    postings: SETTLEMENT,
  }),
  row('pending', 'FAIL', 'failed', ['cashout.processing', 'cashout.failed'], { postings: FULL_REFUND }),
];

export const CASHOUT_STATES: readonly StateRow[] = [
  { state: 'pending', final: false, balance: GROSS },
  { state: 'processing', final: false, balance: GROSS },
  { state: 'completed', final: true, balance: GROSS },
  { state: 'failed', final: true, balance: ZERO },
  { state: 'rejected', final: true, balance: ZERO },
  { state: 'cancelled', final: true, balance: ZERO },
];

/** Message types of each kind (design, "Messages"). */
export const PIX_IN_MESSAGES: readonly string[] = [
  'PAY',
  'HOLD',
  'APPROVE',
  'REFUSE',
  'FAIL',
  'CANCEL',
  'EXPIRE',
  'REFUND',
  'CHARGEBACK',
  'PROTEST',
  'DISMISS',
];

export const CASHOUT_MESSAGES: readonly string[] = ['START', 'SETTLE', 'FAIL', 'REJECT', 'CANCEL'];

/**
 * Messages about a part of a transaction (additions): they name no state, or only where they take the last cent, so
 * `parts.test.ts` walks them, and not these tables.
 */
export const PART_MESSAGES: readonly string[] = ['REFUND_ORDER', 'REFUND_DONE', 'REFUND_FAILED', 'RETURN'];

/** "Event kinds": all 16. */
export const EVENTS: readonly string[] = [
  'pix-in.waiting_payment',
  'pix-in.paid',
  'pix-in.refused',
  'pix-in.canceled',
  'pix-in.refunded',
  'pix-in.failed',
  'pix-in.expired',
  'pix-in.in_analysis',
  'pix-in.chargedback',
  'pix-in.in_protest',
  'cashout.pending',
  'cashout.processing',
  'cashout.completed',
  'cashout.failed',
  'cashout.rejected',
  'cashout.cancelled',
];

/** Statuses of a delivery (decisions, "GET /webhooks"). */
export const DELIVERY_STATES: readonly string[] = ['pending', 'delivered', 'retrying', 'dead', 'rejected'];

/** What can happen to a delivery: an attempt's outcome, and what ops do. */
export const DELIVERY_MESSAGES: readonly string[] = [
  'ACCEPTED',
  'DECLINED',
  'FAILED',
  'ATTEMPT',
  'REVIVE',
  'URL_REMOVED',
];

/** A line of the deliveries' table; `failures`: how many attempts of the round failed before, where it matters. */
export interface DeliveryRow {
  from: string;
  message: string;
  to: string;
  /** The failed attempts of the round before the message; null: any number. */
  failures: number | null;
  /** Delay of the next attempt in ms; null: there is none. */
  retryMs: number | null;
  /** Whether an attempt begins at once. */
  attempt: boolean;
}

function delivery(from: string, message: string, to: string, parts: Partial<DeliveryRow> = {}): DeliveryRow {
  return { from, message, to, failures: null, retryMs: null, attempt: false, ...parts };
}

const MINUTE = 60_000;

/** "Delivery and retry": five attempts, then the dead letter queue; decisions: `rejected`, a new round, a URL taken off. */
export const DELIVERY_ROWS: readonly DeliveryRow[] = [
  delivery('pending', 'ACCEPTED', 'delivered'),
  delivery('pending', 'DECLINED', 'rejected'),
  delivery('pending', 'URL_REMOVED', 'dead'),
  delivery('pending', 'FAILED', 'retrying', { failures: 0, retryMs: MINUTE }),
  delivery('retrying', 'FAILED', 'retrying', { failures: 1, retryMs: 5 * MINUTE }),
  delivery('retrying', 'FAILED', 'retrying', { failures: 2, retryMs: 15 * MINUTE }),
  delivery('retrying', 'FAILED', 'retrying', { failures: 3, retryMs: 60 * MINUTE }),
  delivery('retrying', 'FAILED', 'dead', { failures: 4 }),
  delivery('retrying', 'ATTEMPT', 'retrying', { attempt: true }),
  delivery('retrying', 'ACCEPTED', 'delivered'),
  delivery('retrying', 'DECLINED', 'rejected'),
  delivery('retrying', 'URL_REMOVED', 'dead'),
  delivery('dead', 'REVIVE', 'pending', { attempt: true }),
  delivery('rejected', 'REVIVE', 'pending', { attempt: true }),
];

/** What an HTTP answer is (contract, "Delivery and retry"; decisions: redirects, 429). Null: no answer. */
export const VERDICTS: readonly { statusCode: number | null; message: string }[] = [
  ...[200, 201, 202, 204, 299].map((statusCode) => ({ statusCode, message: 'ACCEPTED' })),
  ...[null, 429, 500, 502, 503, 504, 599].map((statusCode) => ({ statusCode, message: 'FAILED' })),
  ...[301, 302, 307, 308, 400, 401, 403, 404, 408, 410, 422, 499].map((statusCode) => ({
    statusCode,
    message: 'DECLINED',
  })),
];
