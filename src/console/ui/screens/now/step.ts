/** What a cause's one button does, and where the cause is seen. */
import type { Cause } from '../../../shapes/now.ts';
import type { Act } from '../../acts/shape.ts';
import { accountAddress, addressOf, listAddress } from '../../router.ts';

/** A page where the cause is seen, or the command that tells of it. */
export type Step =
  | { kind: 'deliveries' | 'transactions' | 'transaction' | 'account'; href: string }
  | { kind: 'command'; command: string };

function stateOf({ sample }: Cause): string {
  const { state } = (sample[0]?.data ?? {}) as { state?: unknown };
  return typeof state === 'string' ? state : '';
}

/** What is to be done about it, in the dialog; null where it is to be looked at first. */
export function actOn({ action, about, count, sample }: Cause): Act | null {
  const { account, url, transaction } = about;
  if (action === 'retry' && url !== null) return { kind: 'retryUrl', account, url, since: null };
  if (action === 'answer' && transaction !== null)
    return { kind: 'message', transaction, document: null, message: null };
  return action === 'done' ? { kind: 'done', items: sample, of: count } : null;
}

export function step(cause: Cause): Step {
  const { kind, code, about, count } = cause;
  const { account, url, transaction } = about;
  if (url !== null && account !== null) {
    const status = kind === 'hanging' ? {} : { status: kind };
    return { kind: 'deliveries', href: listAddress('deliveries', { account, url, ...status }) };
  }
  if (transaction !== null && (count === 1 || cause.sample.length === 1))
    return { kind: 'transaction', href: addressOf(transaction) };
  if (code === 'TRANSFER_STUCK' || code === 'ANALYSIS_STUCK') {
    const type = code === 'TRANSFER_STUCK' ? 'cashout' : 'pix-in';
    const own = account === null ? {} : { account };
    return {
      kind: 'transactions',
      href: listAddress('transactions', { type, status: stateOf(cause), ...own }),
    };
  }
  const first = cause.sample[0]?.about.transaction ?? null;
  if (first !== null) return { kind: 'transaction', href: addressOf(first) };
  if (account !== null) return { kind: 'account', href: accountAddress(account) };
  return { kind: 'command', command: `npx pixstate attention --kind ${kind}` };
}
