/** What a simulated process has of a real bank: the adapter behind the port, its recurring jobs, and the door. */
import { ApiPixBank } from '../../../src/bank/api-pix/bank.ts';
import { readCallback } from '../../../src/bank/api-pix/callbacks/hints.ts';
import { taking } from '../../../src/bank/api-pix/callbacks/incoming.ts';
import { Registrar } from '../../../src/bank/api-pix/callbacks/registrar.ts';
import { BankConnection } from '../../../src/bank/api-pix/connection.ts';
import { nextReturn } from '../../../src/bank/api-pix/give-back.ts';
import { Notes, type NotesOptions } from '../../../src/bank/api-pix/notes.ts';
import { Reconciler } from '../../../src/bank/api-pix/reconciling/reconcile.ts';
import { PunctualBank } from '../../../src/bank/punctual.ts';
import type { Account } from '../../../src/domain/account.ts';
import type { Bank } from '../../../src/engine/bank.ts';
import type { ReturnAgain } from '../../../src/engine/commands.ts';
import type { TransactionRecord } from '../../../src/engine/journal.ts';
import type { Store } from '../../../src/engine/store.ts';
import type { RecurringJob } from '../../../src/jobs/recurring-job.ts';
import type { Soon } from '../../../src/waiting.ts';
import { BANK_URL, type Counterparty } from './counterparty.ts';
import { KEY } from './keys.ts';

export const EXPIRY_GRACE_S = 60;
const RECONCILE_MS = 300_000;
const REGISTER_MS = 600_000;
const ITEMS_MS = 60_000;
const PROBE_MS = 10_000;

/** What a process has of its bank. */
export interface OpenedBank {
  bank: Bank;
  jobs: RecurringJob[];
  /** A callback has come in; resolves once its hints are durable. */
  hear(body: string): Promise<void>;
  /** What one more return of a payment would be; null: there is none. */
  nextReturn(record: TransactionRecord, endToEndId: string): Promise<ReturnAgain | null>;
}

export interface ProcessAround {
  name: string;
  isAlive(): boolean;
  store: Store;
  account(id: string): Soon<Account | null>;
  note: NotesOptions['note'];
  withdraw: NotesOptions['withdraw'];
  /** The wall clock as this process reads it, ms. */
  now(): number;
  newId(): string;
}

export function openApiPix(counterparty: Counterparty, around: ProcessAround): OpenedBank {
  const { name, isAlive, store, now, account, note, withdraw, newId } = around;
  const { journal, due, marks, accounts } = store;
  const { clientId, clientSecret } = counterparty.front;
  const settings = {
    ...({ profile: 'efi', url: BANK_URL, tokenUrl: null, credentials: { clientId, clientSecret } } as const),
    ...{ retryScale: 1, expiryGraceS: EXPIRY_GRACE_S, pixKey: KEY },
    openWire: counterparty.wireOf(name, isAlive),
  };
  const notes = new Notes({ note, withdraw, now, attention: store.attention, retryScale: 1 });
  const connection = new BankConnection(settings, { now, onCall: (ended) => notes.called(ended) });
  const bank = new ApiPixBank({
    ...{ connection, settings, account, due, now, notes },
    transaction: (id) => journal.transaction(id),
  });
  const reconciler = new Reconciler({ connection, journal, due, marks, notes, now, retryScale: 1 });
  const registrar = new Registrar({
    connection,
    accounts,
    pixKey: KEY,
    webhookUrl: 'https://us.example/pix',
    notes,
  });
  const probe = async (): Promise<void> => {
    if (connection.client.breaker.isOpen) await connection.charges.ask(newId());
  };
  const take = taking({ journal, due, now, onDropped: () => {} });
  return {
    bank: new PunctualBank(bank),
    jobs: [
      { name: 'reconcile', everyMs: RECONCILE_MS, run: () => reconciler.run() },
      { name: 'bank-webhooks', everyMs: REGISTER_MS, run: () => registrar.run() },
      { name: 'bank-probe', everyMs: PROBE_MS, run: probe },
      { name: 'bank-items', everyMs: ITEMS_MS, run: () => notes.look() },
    ],
    hear: async (body) => {
      const hints = readCallback(body, connection.profile);
      if (hints === null) throw new Error(`a callback that can't be read: ${body}`);
      await take(hints, () => true);
    },
    nextReturn: async (record, endToEndId) => {
      const next = await nextReturn(connection, record, endToEndId);
      if ('refusal' in next) return null;
      const { number, amount } = next;
      return { number, amount, endToEndId, reason: 'given back once more' };
    },
  };
}
