/** Commands that sentences name, to be pasted into a shell. */
import type { ReturnBooking } from './item-codes.ts';

export function inspect(transaction: string | null): string {
  return `npx pixstate inspect ${transaction}`;
}

export function send(transaction: string | null, messages: string): string {
  return `npx pixstate send ${transaction} ${messages}`;
}

/** The message that ends a refund as one that isn't done. */
export function refundFailed(refundId: string): string {
  return `REFUND_FAILED --data '{"refundId":"${refundId}"}'`;
}

/** The messages that tell how a refund ended. */
export function refundOutcome(refundId: string, or: string): string {
  return `REFUND_DONE ${or} REFUND_FAILED --data '{"refundId":"${refundId}"}'`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * The messages that book by hand what the bank took back, under the bank's own ids: so it counts once, whatever the bank
 * says of it later.
 */
export function takenBack(amount: number, booking: ReturnBooking, or: string): string {
  const types = ['REFUND', 'CHARGEBACK'];
  const said = (data: object): string => `--data ${quoted(JSON.stringify(data))}`;
  if ('returnId' in booking)
    return `${types.join(` ${or} `)} ${said({ amount, returnId: booking.returnId })}`;
  const { messageId } = booking;
  return types
    .map((type) => `${type} ${said({ amount })} --id ${quoted(`${messageId}:${type}`)}`)
    .join(` ${or} `);
}

/** Tries again what a URL didn't take from the beginning of a day on. */
export function retrySince(account: string | null, url: string | null, day: string): string {
  return `npx pixstate deliveries retry --account ${account} --url ${quoted(url ?? '')} --since ${day}T00:00:00Z`;
}

/** Characters of a message that can't be placed, as ops are shown it. */
export const LONGEST_WHAT = 4_000;

/** Cents as the API Pix writes them: 1234 is `12.34`. */
export function decimal(cents: number): string {
  const digits = String(cents).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
