/** The contract's and the decisions' tables in the shape that the model wants; nothing is read from a statechart. */

/** Where each message may lead, by kind and state: `from MESSAGE` to the state after it. */
export const MOVES: Record<string, Record<string, string>> = {
  'pix-in': {
    'waiting_payment PAY': 'paid',
    'waiting_payment HOLD': 'in_analysis',
    'waiting_payment REFUSE': 'refused',
    'waiting_payment FAIL': 'failed',
    'waiting_payment CANCEL': 'canceled',
    'waiting_payment EXPIRE': 'expired',
    'in_analysis APPROVE': 'paid',
    'in_analysis REFUSE': 'refused',
    'in_analysis FAIL': 'failed',
    'paid REFUND': 'refunded',
    'paid CHARGEBACK': 'chargedback',
    'paid PROTEST': 'in_protest',
    'in_protest DISMISS': 'paid',
    'in_protest REFUND': 'refunded',
    'in_protest CHARGEBACK': 'chargedback',
  },
  cashout: {
    'pending START': 'processing',
    'pending SETTLE': 'completed',
    'pending FAIL': 'failed',
    'pending REJECT': 'rejected',
    'pending CANCEL': 'cancelled',
    'processing SETTLE': 'completed',
    'processing FAIL': 'failed',
  },
};

/** How each kind begins. */
export const FIRST: Record<string, string> = { 'pix-in': 'waiting_payment', cashout: 'pending' };
/** A charge in these has credited its net amount. */
export const CREDITED = new Set(['paid', 'in_protest']);
/** A cashout in these has taken its amount and fee. */
export const DEBITED = new Set(['pending', 'processing', 'completed']);
