/** What needs a person, in English: these sentences stand in journals and on the list. */
import {
  decimal,
  inspect,
  LONGEST_WHAT,
  refundFailed,
  refundOutcome,
  retrySince,
  send,
  takenBack,
} from '../commands.ts';
import type { BatchFault, Facts, ItemWords, ListedKind, Sentences } from '../item-codes.ts';
import { countedReturn } from '../kept.ts';
import type { RefusalData } from '../refusal-codes.ts';

/** That an order hasn't ended, in the bank's own word where somebody has heard one. */
function unended(bank: string | null): string {
  return bank === null ? 'its outcome is not known' : `its outcome is not known; the bank says ${bank}`;
}

/** What helps where a return that counts already was to end a refund besides. */
function counted(
  transaction: string | null,
  { refundId, returnId, status }: RefusalData['RETURN_COUNTED'],
): string {
  const shows = `${inspect(transaction)} shows both`;
  if (status === 'pending')
    return `ask the bank by which return it did the refund: by ${returnId}, then ${send(transaction, refundFailed(refundId))} gives back what the refund debits besides, and the merchant, who hears that it failed, must know that it was done; by another one, then REFUND_DONE with that returnId; ${shows}`;
  if (status === 'completed')
    return `ask the bank how often it has paid: if once, npx pixstate account adjust gives the merchant back what was debited twice; ${shows}`;
  return `ask the bank how often it has paid; ${shows}`;
}

function refused({ about, data }: Facts<'MESSAGE_REFUSED' | 'MESSAGE_INVALID'>): Sentences {
  const { type, message, messageId, reason } = data;
  const what = `${message} (${messageId}) to ${type} ${about.transaction}: ${reason}`;
  const known = countedReturn(data);
  return { what, next: known === null ? inspect(about.transaction) : counted(about.transaction, known) };
}

function stuck(answers: string): (facts: Facts<'TRANSFER_STUCK' | 'ANALYSIS_STUCK'>) => Sentences {
  return ({ id, since, data: { type, state, bank } }) => ({
    what: `${type} ${id} has been ${state} since ${since}: ${unended(bank)}`,
    next: `ask the bank, then ${send(id, answers)}; ${inspect(id)} shows it`,
  });
}

function atTheBank(next: string): (facts: Facts<'BANK_PATH'>) => Sentences {
  return ({ data: { call, message } }) => ({
    what: `${call} at the bank: ${message}`,
    next: `${next}; npx pixstate bank check`,
  });
}

function certificate(state: string): (facts: Facts<'BANK_CERTIFICATE_EXPIRED'>) => Sentences {
  return ({ data: { at } }) => ({
    what: `the client certificate ${state} ${at}`,
    next: 'renew the client certificate at the bank; npx pixstate bank check',
  });
}

function differs(what: string): Sentences {
  return { what, next: 'npx pixstate bank reconcile shows the whole of the day; ask the bank' };
}

function otherAmount({ listed, booked }: { listed: number; booked: number }): string {
  return `the bank lists ${decimal(listed)}, and ${decimal(booked)} were booked`;
}

const FAULTS: Readonly<Record<BatchFault, string>> = {
  content: 'its content is not what its hash says',
  missing: 'the batch before it is not there',
  chain: 'it is not chained to the batch before it',
  time: 'its time is before that of the batch before it',
  sum: 'the postings of an entry do not sum to zero',
  balances: 'its balances are not what the postings give',
  place: 'nothing leads to it',
  changed: 'it is not the batch that was read there before',
  gone: 'it was read, and is not there any more',
};

const LISTED: Readonly<Record<ListedKind, string>> = {
  payment: 'payment',
  sending: 'transfer',
  return: 'return',
};

export const items: ItemWords = {
  MESSAGE_REFUSED: refused,
  MESSAGE_INVALID: refused,
  MESSAGE_UNDECIDED: ({ data: { message, messageId, transactionId, reason, content } }) => ({
    what: `${message} (${messageId}) to ${transactionId} can't be decided (${reason}): ${content}`.slice(
      0,
      LONGEST_WHAT,
    ),
    next: `the bank is told to send it again; ${inspect(transactionId)}`,
  }),
  TRANSACTION_UNKNOWN: ({ data: { message, messageId, transactionId, content } }) => ({
    what: `${message} (${messageId}) to ${transactionId}, which is no transaction: ${content}`.slice(
      0,
      LONGEST_WHAT,
    ),
    next: 'ask the bank what it was about: money may be in it',
  }),
  REFUSALS_UNRECORDED: ({ about, data: { type, recorded } }) => ({
    what: `${recorded} messages to ${type} ${about.transaction} were refused and recorded; those to come are only answered and counted`,
    next: `ask whoever sends them; ${inspect(about.transaction)}`,
  }),
  PAYMENT_GIVEN_BACK: ({ about, data: { endToEndId, amount, reason } }) => ({
    what: `payment ${endToEndId} of ${amount} cents to pix-in ${about.transaction} is given back: ${reason}`,
    next: inspect(about.transaction),
  }),
  RETURN_FAILED: ({ about, data: { endToEndId, why } }) => ({
    what: `payment ${endToEndId} of pix-in ${about.transaction} could not be given back: ${why}`,
    next: `once the cause is gone, npx pixstate bank return ${endToEndId}`,
  }),
  RETURN_STUCK: ({ since, about, data: { endToEndId, bank } }) => ({
    what: `payment ${endToEndId} of pix-in ${about.transaction} has been on its way back since ${since}: ${unended(bank)}`,
    next: `ask the bank; ${inspect(about.transaction)} shows the payment`,
  }),
  REFUNDED_TOO_MUCH: ({ about, data: { refundId, standing } }) => ({
    what: `ALARM: more went out than came in: refund ${refundId} is completed where ${standing} cents stand (transaction ${about.transaction})`,
    next: inspect(about.transaction),
  }),
  REFUND_STUCK: ({ since, about: { transaction }, data: { refundId, bank } }) => ({
    what: `refund ${refundId} of pix-in ${transaction} has been pending since ${since}: ${unended(bank)}`,
    next: `ask the bank, then ${send(transaction, refundOutcome(refundId, 'or'))}, a REFUND_DONE with the bank's returnId (rtrId) in its data besides, so that it counts once; ${inspect(transaction)} shows it`,
  }),
  TRANSFER_STUCK: stuck('SETTLE or FAIL'),
  ANALYSIS_STUCK: stuck('APPROVE or REFUSE'),
  EXPIRY_STUCK: ({ since, about: { transaction }, data: { why } }) => ({
    what: `pix-in ${transaction} should have expired at ${since}, and waits until the bank says whether it was paid: ${why}`,
    next: `ask the bank, then ${send(transaction, 'PAY or EXPIRE')}; ${inspect(transaction)} shows it`,
  }),
  SNAPSHOT_UNREADABLE: ({ id, data: { reason } }) => ({
    what: `the snapshot of ${id} can't be read: ${reason}`,
    next: 'deploy a statechart or a migration that reads it, then restart: its messages and timers go on',
  }),
  CLOCK_BEHIND: ({ about, data: { entryAt, clock } }) => ({
    what: `the last entry of account ${about.account} is of ${entryAt}, and the clock says ${clock}: one of them is wrong`,
    next: 'see that the clock is right; the next entries bear the time of the last one until it has come',
  }),
  BATCH_UNPROJECTABLE: ({ about, data: { seq, reason } }) => ({
    what: `batch ${seq} of ${about.account} is committed and can't be projected: ${reason}`,
    next: 'mend what it names: the batch is tried again all the time, and the item goes by itself',
  }),
  BATCH_BROKEN: ({ about: { account }, data: { seq, fault } }) => ({
    what: `ALARM: batch ${seq} of ${account} does not add up: ${FAULTS[fault]}`,
    next: `npx pixstate verify --account ${account} tells all of it; keep the store as it is, and compare it with a backup`,
  }),
  LOG_UNREADABLE: ({ data: { row, reason } }) => ({
    what: `ALARM: row ${row} of the log can't be read: ${reason}`,
    next: 'npx pixstate verify; keep the data folder as it is, and compare it with a backup',
  }),
  DELIVERY_DEAD: ({ id, about, data: { event, error, status } }) => ({
    what: `${event} of ${about.transaction} to ${about.url} is dead: ${error ?? status ?? 'the URL is off the account'}`,
    next:
      (error ?? status) === null
        ? `npx pixstate account set ${about.account} with --webhook-url puts the URL back; npx pixstate deliveries retry ${id} has an effect then`
        : `npx pixstate deliveries retry ${id}`,
  }),
  DELIVERIES_REJECTED: ({ about, data: { day, count, event, status } }) => ({
    what: `${about.url} rejected ${count} ${count === 1 ? 'delivery' : 'deliveries'} on ${day} (UTC), first ${event} of ${about.transaction} with ${status}`,
    next: `ask the receiver why; once it takes them, ${retrySince(about.account, about.url, day)}`,
  }),
  URL_HANGS: ({ about, data: { waiting } }) => ({
    what: `more than ${waiting.toLocaleString('en')} deliveries wait for ${about.url}, which does not answer in time`,
    next: `ask the receiver; npx pixstate account set ${about.account} with other --webhook-url takes it off, and what waits is dead then`,
  }),
  BANK_CREDENTIALS: atTheBank('look at BANK_CLIENT_ID and BANK_CLIENT_SECRET'),
  BANK_SCOPE: atTheBank("have the contract's scopes extended at the bank"),
  BANK_CERTIFICATE: atTheBank('renew the client certificate at the bank'),
  BANK_PATH: atTheBank('look at BANK_URL, BANK_TOKEN_URL and BANK_PROFILE'),
  BANK_KEY: ({ data: { key, message } }) => ({
    what: `the bank doesn't take the Pix key ${key} for one of this contract's: ${message}`,
    next: 'look at BANK_PIX_KEY, and at the account’s own key (npx pixstate account set --pix-key); npx pixstate bank check',
  }),
  BANK_WEBHOOK: ({ data: { url, message } }) => ({
    what: `the bank doesn't take ${url} as the place to call back: ${message}`,
    next: 'look at BANK_WEBHOOK_URL, and whether the bank reaches it; npx pixstate bank check --fix; payments are found in the list meanwhile',
  }),
  BANK_LIMIT: ({ data: { call, minutes } }) => ({
    what: `the bank wants no ${call} for ${minutes} minutes: these calls are held back`,
    next: 'ask the bank for a higher limit; calls are made again when its time is over, and the item goes once they go through',
  }),
  BANK_AWAY: ({ since, data: { call, message } }) => ({
    what: `the bank has been away for minutes at ${since}, and calls are held back; the last one, ${call}: ${message}`,
    next: 'ask the bank; npx pixstate bank check; the bank is tried all the time, and the item goes once it answers',
  }),
  BANK_LISTS: ({ data: { since, message } }) => ({
    what: `the bank's lists can't be read since ${since}: ${message}`,
    next: 'ask the bank; what it never told of is found in them alone; they are tried all the time, and the item goes once they can be read',
  }),
  BANK_CERTIFICATE_EARLY: certificate('is good only from'),
  BANK_CERTIFICATE_EXPIRED: certificate('has expired at'),
  CHARGE_PAYMENT_UNREADABLE: ({ about: { transaction }, data: { endToEndId, unread } }) => ({
    what: `a payment of pix-in ${transaction} (${endToEndId ?? 'without an end-to-end id'}) can't be read: ${unread}`,
    next: `ask the bank what was paid; what you book by hand bears the bank's own ids: a PAY its endToEndId, a REFUND or CHARGEBACK its returnId (rtrId), so that it counts once; ${inspect(transaction)} shows the charge`,
  }),
  CHARGE_UNKNOWN: ({ about, data: { txid } }) => ({
    what: `the bank knows no charge ${txid}, which waits for its payment here (pix-in ${about.transaction})`,
    next: 'ask the bank why: nobody can pay it; it expires at its time',
  }),
  PAYMENT_UNEXPLAINED: ({ data: { endToEndId, txid, paidAt } }) => ({
    what: `the bank received payment ${endToEndId} ${txid === null ? 'without a txid' : `with the txid ${txid}`} at ${paidAt}, and no charge of ours explains it`,
    next: 'find out whose it is: money may have to be given back at the bank',
  }),
  PAYMENT_UNREADABLE: ({ data: { endToEndId, txid, unread } }) => ({
    what: `a payment in the bank's list (${endToEndId ?? 'without an end-to-end id'}, ${txid ?? 'no txid'}) can't be read: ${unread}`,
    next: 'ask the bank what was paid',
  }),
  TRANSFER_UNEXPLAINED: ({ data: { listed } }) =>
    differs(`the bank lists a transfer (${listed}) that no cashout of ours explains`),
  TRANSFER_UNREADABLE: ({ data: { listed } }) =>
    differs(`a transfer in the bank's list (${listed ?? 'without an id'}) can't be read`),
  TRANSFERS_UNREADABLE: ({ data: { count } }) =>
    differs(`the bank's list has ${count} transfers that can't be read`),
  AMOUNT_BOOKED_DIFFERS: ({ about, data }) =>
    differs(`${data.type} ${about.transaction}: ${otherAmount(data)}`),
  RETURN_AMOUNT_DIFFERS: ({ about, data }) =>
    differs(`${data.type} ${about.transaction}: return ${data.returnId}: ${otherAmount(data)}`),
  RETURN_UNLISTED: ({ about, data: { type, returnId } }) =>
    differs(`${type} ${about.transaction}: a return (${returnId}) was booked that the bank doesn't list`),
  RETURN_UNBOOKED: ({ about, data: { type, returnId, nature, amount, booking } }) => ({
    what: `${type} ${about.transaction}: the bank lists a return (${returnId}, ${nature}) of ${decimal(amount)} that was not booked`,
    next:
      booking === undefined
        ? `ask the bank what it is, then ${send(about.transaction, 'REFUND or CHARGEBACK')} with its amount`
        : `ask the bank what it is, then ${send(about.transaction, takenBack(amount, booking, 'or'))}: with this id it counts once, whatever the bank says later`,
  }),
  LISTING_UNBOOKED: ({ about, data: { type, listed, endToEndId } }) => ({
    what: `${type} ${about.transaction}: the bank lists a ${LISTED[listed]} (${endToEndId ?? 'without an end-to-end id'}), and says nothing of it when asked: it was not booked`,
    next: `ask the bank why; it is asked again each day, and the item goes once it is booked; ${inspect(about.transaction)} shows the rest`,
  }),
  BOOKING_UNLISTED: ({ data: { booked, endToEndId } }) =>
    differs(`the journal has a ${booked} (${endToEndId}) that the bank doesn't list`),
};
