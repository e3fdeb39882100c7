/**
 * Decides one command: workspace, settings and time in; answer and at most one entry out. Pure: no clock, no
 * ids, no store of its own. Transitions, postings and events come from the statechart alone.
 */
import { textOfTime, timeOfText } from '../domain/time.ts';
import type { Charge, Transfer } from '../domain/transactions.ts';
import { begin, take, UnreadableSnapshot } from './chart.ts';
import type { Command } from './commands.ts';
import { decideMessage } from './decide-message.ts';
import {
  answered,
  type Circumstances,
  type Decision,
  done,
  presentOf,
  remark,
  signed,
  stepEntry,
} from './decision.ts';
import type { BankOrder, JournalMessage } from './journal.ts';
import { lookupKey } from './lookups.ts';
import { decideAct, decideAdjust } from './ops/decide.ts';
import { decideCancel, decideRefund } from './refunds/decide.ts';
import { isEarly, seen } from './store/due.ts';
import type { Workspace } from './workspace.ts';

function createCharge(
  workspace: Workspace,
  command: Command & { kind: 'createCharge' },
  c: Circumstances,
): Decision {
  const { charge } = command;
  const key = charge.idempotencyKey;
  const existing = key === undefined ? null : workspace.lookup('chargeKey', lookupKey(key));
  if (existing !== null) return answered({ kind: 'duplicateKey', transaction: existing });
  // Members stand in canonical order, here and below: what is in order is written faster.
  const context: Charge = {
    additionalInfo: charge.additionalInfo,
    amount: charge.amount,
    createdAt: c.at,
    customer: charge.customer,
    description: charge.description,
    endToEndId: null,
    expiresAt: textOfTime(c.now + charge.expiresIn * 1000),
    externalRef: charge.externalRef,
    fee: charge.fee,
    held: null,
    ...(charge.idempotencyKey === undefined ? {} : { idempotencyKey: charge.idempotencyKey }),
    metadata: charge.metadata,
    paidAt: null,
    ...(charge.pixKey === undefined ? {} : { pixKey: charge.pixKey }),
    qrcode: charge.qrcode,
  };
  const message: JournalMessage = { data: {}, digest: '', door: 'api', id: '', type: 'CREATE' };
  const entry = stepEntry(
    begin('pix-in', context, c.charts),
    { id: command.id, type: 'pix-in', record: null },
    message,
    c,
  );
  if (command.wakeInMs !== null) entry.orders.push(wakeOrder(0, c.now + command.wakeInMs));
  return done(workspace, entry);
}

/** The bank asked to be woken about a transaction. */
function wakeOrder(step: number, at: number): BankOrder {
  return { at: textOfTime(at), kind: 'wake', step };
}

function createTransfer(
  workspace: Workspace,
  command: Command & { kind: 'createTransfer' },
  c: Circumstances,
): Decision {
  const key = command.transfer.idempotencyKey;
  // I4; before the balance, so that a retry after the money went down still gets its 409.
  const existing = key === null ? null : workspace.lookup('idempotencyKey', lookupKey(key));
  if (existing !== null) return answered({ kind: 'duplicateKey', transaction: existing });
  const { amount, fee } = command.transfer;
  const { available } = workspace.balances;
  if (available < amount + fee.totalFee) return answered({ kind: 'insufficientBalance', available });
  const { transfer } = command;
  const context: Transfer = {
    amount: transfer.amount,
    createdAt: c.at,
    description: transfer.description,
    externalRef: transfer.externalRef,
    fee: transfer.fee,
    idempotencyKey: transfer.idempotencyKey,
    metadata: transfer.metadata,
    paidAt: null,
    pixKey: transfer.pixKey,
    pixKeyType: transfer.pixKeyType,
    reference: null,
    startImplied: false,
  };
  const message: JournalMessage = { data: {}, digest: '', door: 'api', id: '', type: 'CREATE' };
  return done(
    workspace,
    stepEntry(
      begin('cashout', context, c.charts),
      { id: command.id, type: 'cashout', record: null },
      message,
      c,
    ),
  );
}

/** I8: only a timer that the transaction still waits for, and never before its time. */
function timer(workspace: Workspace, command: Command & { kind: 'timer' }, c: Circumstances): Decision {
  const record = workspace.record(command.transaction);
  if (record === null) return answered({ kind: 'unknown' });
  if (!record.timers.some(({ name }) => name === command.name)) return answered({ kind: 'repeated', record });
  const present = presentOf(record, c.charts);
  // After a migration the old name stands for the timers that were derived anew.
  const waited =
    present === record ? record.timers.filter(({ name }) => name === command.name) : present.timers;
  const earliest = waited.map(({ at }) => timeOfText(at)).sort((a, b) => a - b)[0];
  if (earliest === undefined) return answered({ kind: 'repeated', record });
  // An account's time may have been ahead of the clock when the timer was set: it isn't waited for.
  const ahead = command.ahead ?? 0;
  // It may have waited for the bank, or for its turn here, while a clock that was ahead was set right.
  const hasCome =
    !isEarly(command, record.updatedAt, c.clock) && (earliest <= c.now || earliest <= seen(command, c.clock));
  const due = hasCome ? waited.find(({ at }) => timeOfText(at) === earliest) : undefined;
  if (due === undefined) return answered({ kind: 'notYet', at: earliest - ahead });
  const step = take(present.snapshot, { type: due.name }, c.charts);
  // A name that a newer statechart doesn't know is nothing to wait for.
  if (step === null) return answered({ kind: 'repeated', record });
  const type = step.raised ?? due.name;
  const said: JournalMessage = { data: {}, digest: '', door: 'clock', id: command.name, type };
  return done(workspace, stepEntry(step, { id: record.id, type: record.type, record }, said, c));
}

function submit(workspace: Workspace, command: Command & { kind: 'submit' }, c: Circumstances): Decision {
  const record = workspace.record(command.transaction);
  if (record === null) return answered({ kind: 'unknown' });
  if (record.submitted || presentOf(record, c.charts).snapshot.value !== 'pending')
    return answered({ kind: 'repeated', record });
  const { contract = {} } = command;
  const said: JournalMessage = { data: contract, digest: '', door: 'clock', id: '', type: 'SUBMIT' };
  return done(workspace, remark(record, said, c.at, {}));
}

/** Ops have a payment given back once more: the order is the entry's. */
function returnAgain(
  workspace: Workspace,
  command: Command & { kind: 'returnAgain' },
  c: Circumstances,
): Decision {
  const record = workspace.record(command.transaction);
  if (record === null) return answered({ kind: 'unknown' });
  const { amount, endToEndId, number, reason, by } = command;
  const data = { amount, endToEndId, number, reason };
  const said = { ...signed(by), data, digest: '', door: 'ops' as const, id: '', type: 'RETURN_AGAIN' };
  return done(workspace, remark(record, said, c.at, { orders: [{ kind: 'return', ...data }] }));
}

function decideKind(workspace: Workspace, command: Command, c: Circumstances): Decision {
  switch (command.kind) {
    case 'createCharge':
      return createCharge(workspace, command, c);
    case 'createTransfer':
      return createTransfer(workspace, command, c);
    case 'message':
    case 'invalidMessage':
      return decideMessage(workspace, command, c);
    case 'timer':
      return timer(workspace, command, c);
    case 'submit':
      return submit(workspace, command, c);
    case 'returnAgain':
      return returnAgain(workspace, command, c);
    case 'refund':
      return decideRefund(workspace, command, c);
    case 'cancel':
      return decideCancel(workspace, command, c);
    case 'adjust':
      return decideAdjust(workspace, command, c);
    case 'act':
      return decideAct(workspace, command, c);
  }
}

/** Decides a command; the workspace is as after it. A snapshot that can't be read changes nothing. */
export function decide(workspace: Workspace, command: Command, circumstances: Circumstances): Decision {
  try {
    return decideKind(workspace, command, circumstances);
  } catch (error) {
    if (!(error instanceof UnreadableSnapshot) || !('transaction' in command)) throw error;
    return answered({ kind: 'quarantined', transaction: command.transaction, reason: error.message });
  }
}
