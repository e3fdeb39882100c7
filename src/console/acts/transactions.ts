/** Operators send messages to transactions, refund and cancel charges: by the doors of the command line and of merchants. */
import { ApiError, notFound, unavailable, validationError } from '../../api/errors.ts';
import { refundRefusal } from '../../api/refund-refusal.ts';
import type { Account } from '../../domain/account.ts';
import { MESSAGE_TYPES } from '../../domain/messages.ts';
import type { Answer } from '../../engine/commands.ts';
import type { TransactionRecord } from '../../engine/journal.ts';
import type { MessageAnswer } from '../../engine/payments.ts';
import { allowedToOps } from '../../engine/refunds/later-words.ts';
import { record as recordAct, tell } from '../../ops/acting.ts';
import { ConsoleError, noTransaction } from '../server/errors.ts';
import type { Sent } from '../shapes/acts.ts';
import type { ActsParts, Doing } from './parts.ts';
import type { DeedOf } from './wishes.ts';

/** @throws ConsoleError where there is no such transaction */
async function recordOf({ store }: ActsParts, id: string): Promise<TransactionRecord> {
  const record = await store.journal.transaction(id.toLowerCase());
  if (record === null) throw noTransaction();
  return record;
}

/** A charge, and whose it is. @throws ConsoleError, ApiError where there is none */
async function chargeOf(
  parts: ActsParts,
  id: string,
): Promise<{ record: TransactionRecord; account: Account }> {
  const record = await recordOf(parts, id);
  const account = await parts.store.accounts.get(record.account);
  if (record.type !== 'pix-in' || account === null) throw notFound();
  return { record, account };
}

function notAccepted({ snapshot }: TransactionRecord, reason: string, allowed: string[]): ApiError {
  const extra = { status: snapshot.value, allowed };
  return new ApiError('MESSAGE_NOT_ACCEPTED', `Nothing was changed: ${reason}.`, extra);
}

function sent({ id, snapshot }: TransactionRecord, applied: boolean): Sent {
  return { transaction: id, status: snapshot.value, applied };
}

/** What came of it. @throws ApiError */
function outcome(answer: MessageAnswer): Sent {
  switch (answer.kind) {
    case 'applied':
      return sent(answer.record, true);
    case 'repeated':
      return sent(answer.record, false);
    case 'refused':
      throw notAccepted(answer.record, answer.reason, answer.allowed);
    case 'malformed':
      throw validationError(answer.details);
    case 'quarantined':
      throw unavailable('The transaction can not be changed at the moment.');
    case 'unknown':
      throw noTransaction();
    default:
      throw new Error(`a message was answered ${answer.kind}`);
  }
}

/**
 * A message that the state surely doesn't take is not sent: the journal keeps what the bank says, and what operators
 * tried is told to them alone. One that another was first with meanwhile has its entry, as any refused one.
 */
export const sendMessage: Doing<DeedOf<'message'>> = async (
  parts,
  { transaction, type, data },
  { id, by },
) => {
  const record = await recordOf(parts, transaction);
  const allowed = allowedToOps(record, parts.everyDoorSpeaks);
  const isNew = !Object.hasOwn(record.messages, id);
  if (isNew && MESSAGE_TYPES[record.type].includes(type) && !allowed.includes(type))
    throw notAccepted(
      record,
      `a ${record.type} that is ${record.snapshot.value} does not take ${type}`,
      allowed,
    );
  return outcome(await parts.payments.tell(record, { id, type, data }, 'ops', { by }));
};

/** @throws ConsoleError, ApiError */
function refundOutcome(answer: Answer): Sent {
  if (answer.kind === 'refused')
    throw new ConsoleError('ID_REUSED', 'This id was used for something else: nothing was changed.');
  const refusal = refundRefusal(answer);
  if (refusal !== null) throw refusal;
  return outcome(answer);
}

/** The reason is the operator's, for the journal: what is told to merchant and payer has none. */
export const refund: Doing<DeedOf<'refund'>> = async (parts, { transaction, amount }, { id, by }) => {
  const { record, account } = await chargeOf(parts, transaction);
  const ops = { id: id.toLowerCase(), by };
  const request = { transaction: record.id, amount, reason: null, idempotencyKey: null, ops };
  return refundOutcome((await parts.payments.refund(account, request, {})).answer);
};

export const cancel: Doing<DeedOf<'cancel'>> = async (parts, { transaction }, ops) => {
  const { record, account } = await chargeOf(parts, transaction);
  tell(parts, 'cancel', [account.id], ops);
  const data = { transaction: record.id };
  // The bank is asked before there is a message, and its answer may get lost: the account's journal knows who asked.
  const order = {
    ...ops,
    record: () => recordAct(parts, account.id, { action: 'cancel', asked: data }, data, ops),
  };
  return outcome(await parts.payments.cancel(account, { ...data, reason: null, ops: order }, {}));
};
