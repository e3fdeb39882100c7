/** The bank that the configuration names. What needs none of it starts without a real bank's client. */

import type { Account } from '../domain/account.ts';
import type { Bank } from '../engine/bank.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { Attention, AttentionItem, AttentionKey, DueIndex } from '../engine/store.ts';
import type { Soon } from '../waiting.ts';
import type { BankConnection } from './api-pix/connection.ts';
import type { Notes } from './api-pix/notes.ts';
import type { BankSettings } from './api-pix/settings.ts';
import { PunctualBank } from './punctual.ts';
import { SandboxBank } from './sandbox.ts';

/** What a bank needs of the engine. */
export interface BankSurroundings {
  account(id: string): Soon<Account | null>;
  transaction(id: string): Promise<TransactionRecord | null>;
  due: Pick<DueIndex, 'settle'>;
  note(items: AttentionItem[]): Promise<void>;
  withdraw(keys: readonly AttentionKey[]): Promise<void>;
  attention: Pick<Attention, 'page' | 'find'>;
  /** The store's clock, ms. */
  now(): number;
  /** This machine's own, ms. */
  clock: { now(): number; elapsed(): number };
}

/** The bank that is wanted. */
export interface BankChoice {
  bank: 'sandbox' | 'api-pix';
  /** Null with the sandbox. */
  bankSettings: BankSettings | null;
}

export interface OpenBank {
  bank: Bank;
  /** Null with the sandbox. */
  connection: BankConnection | null;
  bankNotes: Notes | null;
}

async function openApiPix(settings: BankSettings, around: BankSurroundings): Promise<OpenBank> {
  const [{ BankConnection: Connection }, { ApiPixBank }, { Notes: Told }] = await Promise.all([
    import('./api-pix/connection.ts'),
    import('./api-pix/bank.ts'),
    import('./api-pix/notes.ts'),
  ]);
  const notes = new Told({ ...around, retryScale: settings.retryScale });
  const connection = new Connection(settings, { ...around.clock, onCall: (ended) => notes.called(ended) });
  const bank = new ApiPixBank({
    ...{ connection, settings, notes, account: around.account },
    ...{ transaction: around.transaction, due: around.due, now: around.now },
  });
  return { bank: new PunctualBank(bank), connection, bankNotes: notes };
}

export async function openBank(
  { bankSettings, sandboxDelayMs }: BankChoice & { sandboxDelayMs: number },
  around: BankSurroundings,
): Promise<OpenBank> {
  if (bankSettings !== null) return openApiPix(bankSettings, around);
  return { bank: new SandboxBank(sandboxDelayMs), connection: null, bankNotes: null };
}
