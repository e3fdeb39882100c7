/**
 * An account for tests of `decide`: commands in, decisions out, batch by batch, without a store. What is handed
 * to the engine is frozen to the last leaf, so whoever changes an input throws.
 */
import * as assert from 'uvu/assert';
import type { AnyStateMachine } from 'xstate';
import { type MachineName, type Migration, machines, migrations } from '../../machines/index.ts';
import type { Account } from '../../src/domain/account.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { composeEndToEndId } from '../../src/domain/end-to-end-id.ts';
import { type Balances, sumOfPostings, ZERO_BALANCES } from '../../src/domain/money.ts';
import type { Charts } from '../../src/engine/chart.ts';
import type { Command, NewCharge, NewTransfer, SoundMessage } from '../../src/engine/commands.ts';
import { decide } from '../../src/engine/decide.ts';
import type { Circumstances, Decision } from '../../src/engine/decision.ts';
import type { Entry, TransactionRecord } from '../../src/engine/journal.ts';
import { lookupsOf } from '../../src/engine/lookups.ts';
import { project } from '../../src/engine/project.ts';
import { digestOf } from '../../src/engine/store/content.ts';
import type { LookupName } from '../../src/engine/store/lookups.ts';
import { Unread, Workspace, wantsOfAll } from '../../src/engine/workspace.ts';

/** When tests begin: a Monday noon, ms since 1970. */
export const START = Date.UTC(2026, 0, 5, 12);

export const ACCOUNT = '11111111-1111-4111-8111-111111111111';

/** A UUID v4 of one's own for each number. */
export function uuid(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

/** A well-formed end-to-end id of one's own for each number. */
export function endToEndId(n: number): string {
  return composeEndToEndId('12345678', START, String(n).padStart(11, '0'));
}

/** The same value, which nobody can change any more. */
export function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

/** The command that creates a charge of 100.00 with a fee of 1.00. */
export function charge(id: string, parts: Partial<NewCharge> = {}): Command & { kind: 'createCharge' } {
  const amount = parts.amount ?? 10_000;
  const given: NewCharge = {
    amount,
    fee: { totalFee: 100, netAmount: amount - 100 },
    externalRef: null,
    description: null,
    additionalInfo: null,
    customer: null,
    metadata: {},
    qrcode: `00020126${id}`,
    expiresIn: 3_600,
    ...parts,
  };
  return { kind: 'createCharge', id, charge: given, wakeInMs: null };
}

/** The command that creates a cashout of 10.00 with a fee of 0.50. */
export function transfer(id: string, parts: Partial<NewTransfer> = {}): Command & { kind: 'createTransfer' } {
  const amount = parts.amount ?? 1_000;
  const given: NewTransfer = {
    amount,
    fee: { totalFee: 50, netAmount: amount - 50 },
    idempotencyKey: null,
    externalRef: null,
    description: null,
    metadata: {},
    pixKeyType: 'EMAIL',
    pixKey: 'someone@example.com',
    ...parts,
  };
  return { kind: 'createTransfer', id, transfer: given };
}

/** The command that refunds a charge; without an amount what remains. */
export function refund(
  transaction: string,
  refundId: string,
  amount: number | null = null,
  parts: { reason?: string; idempotencyKey?: string } = {},
): Command & { kind: 'refund' } {
  const { reason = null, idempotencyKey = null } = parts;
  return { kind: 'refund', transaction, refundId, amount, reason, idempotencyKey };
}

let made = 0;

/** A message through the bank's door; without an id it gets one that no other has. */
export function message(
  transaction: string,
  type: string,
  data: object = {},
  parts: Partial<SoundMessage> = {},
): SoundMessage {
  made += 1;
  const id = `m${made}`;
  const digest = digestOf(type, data);
  return { kind: 'message', transaction, door: 'bank', id, type, data, kept: data, digest, ...parts };
}

/** A payment of the whole charge. */
export function pay(transaction: string, n: number, parts: Partial<SoundMessage> = {}, amount = 10_000) {
  return message(transaction, 'PAY', payment(n, amount), parts);
}

/** `data` of PAY and HOLD. */
export function payment(n: number, amount = 10_000): { endToEndId: string; amount: number; paidAt: string } {
  return { endToEndId: endToEndId(n), amount, paidAt: new Date(START + n * 1_000).toISOString() };
}

/** The clock's command for a timer that was due at a time (ms). */
export function due(transaction: string, name: string, at: number): Command {
  return { kind: 'timer', transaction, name, at };
}

/** The name of a charge's expiry timer. */
export const EXPIRY = 'xstate.after.expiry.pix-in.waiting_payment';

/** An adjustment as ops make it; the same id with another amount has another digest. */
export function adjustment(
  amount: number,
  id = 'opening',
  allowNegative = false,
): Command & { kind: 'adjust' } {
  const digest = digestOf('ADJUST', { amount });
  return { kind: 'adjust', id, amount, reason: 'a test', allowNegative, digest };
}

/** What lies around a batch. */
export interface Surroundings {
  webhooks: Account['webhooks'];
  everyDoorSpeaks: boolean;
  /** As in `Circumstances`. */
  charts?: Charts;
}

/** An account in memory; `now` is its clock. */
export class Ledger {
  now = START;
  /** How far the account's last entry lies ahead of the clock, ms. */
  aheadMs = 0;
  seq = 0;
  balances: Balances = ZERO_BALANCES;
  readonly entries: { seq: number; entry: Entry }[] = [];
  surroundings: Surroundings = { webhooks: [], everyDoorSpeaks: false };
  readonly #records = new Map<string, TransactionRecord>();
  readonly #lookups = new Map<string, string>();

  record(id: string): TransactionRecord {
    const record = this.#records.get(id);
    if (record === undefined) throw new Error(`no transaction ${id}`);
    return record;
  }

  has(id: string): boolean {
    return this.#records.has(id);
  }

  status(id: string): string {
    return this.record(id).snapshot.value;
  }

  lookup(name: LookupName, key: string): string | null {
    return this.#lookups.get(`${name}:${key}`) ?? null;
  }

  /** Puts a record in its place, as an older version or a broken migration might have left it. */
  plant(record: TransactionRecord): void {
    this.#records.set(record.id, frozen(record));
  }

  /** Lookups that decisions ask for without having had them read are read, as the actor does. */
  #decided(commands: Command[], circumstances: Circumstances) {
    const { transactions, lookups } = wantsOfAll(commands);
    for (const wanted = [...lookups]; ; ) {
      const reads = {
        transactions: transactions.map((id) => this.#records.get(id) ?? null),
        lookups: wanted.map(({ name, key }) => this.lookup(name, key)),
      };
      const wants = { transactions, lookups: wanted };
      const workspace = new Workspace(ACCOUNT, this.seq + 1, frozen(this.balances), {
        wants,
        reads: frozen(reads),
        text: null,
      });
      try {
        const decisions = commands.map((command) => decide(workspace, frozen(command), circumstances));
        return { workspace, decisions };
      } catch (error) {
        if (!(error instanceof Unread)) throw error;
        wanted.push(error.lookup);
      }
    }
  }

  /** Decides the commands as one batch and takes what came of it. */
  commit(...commands: Command[]): Decision[] {
    const circumstances = frozen({
      at: new Date(this.now).toISOString(),
      now: this.now,
      clock: this.now - this.aheadMs,
      ...this.surroundings,
    });
    const { workspace, decisions } = this.#decided(commands, circumstances);
    const entries = decisions.flatMap(({ taken }) => (taken === null ? [] : [taken.entry]));
    if (entries.length === 0) return decisions;
    this.seq += 1;
    this.balances = workspace.balances;
    for (const entry of entries) this.entries.push({ seq: this.seq, entry: frozen(entry) });
    for (const [id, record] of workspace.changed) this.#records.set(id, frozen(record));
    for (const { name, key, value } of workspace.addedLookups) this.#lookups.set(`${name}:${key}`, value);
    return decisions;
  }

  /** I1, I2 and I7: postings sum to zero, and replaying the entries gives the same bytes. */
  assertReplays(): void {
    const balances: Balances = { ...ZERO_BALANCES };
    const records = new Map<string, TransactionRecord>();
    const lookups = new Map<string, string>();
    // As from a store: what is replayed was written and read.
    for (const { seq, entry } of JSON.parse(JSON.stringify(this.entries)) as typeof this.entries) {
      assert.is(sumOfPostings(entry.postings), 0);
      for (const { leg, amount } of entry.postings) balances[leg] += amount;
      const id = entry.transaction;
      if (id !== null) records.set(id, project(records.get(id) ?? null, ACCOUNT, seq, entry));
      for (const { name, key, value } of lookupsOf(entry)) lookups.set(`${name}:${key}`, value);
    }
    assert.is(canonicalJson(balances), canonicalJson(this.balances));
    assert.is(canonicalJson([...records]), canonicalJson([...this.#records]));
    assert.is(canonicalJson([...lookups]), canonicalJson([...this.#lookups]));
  }
}

/** Runs with another chart in the catalogue, and puts the real one back. Its states need names of their own. */
export function withChart(name: MachineName, chart: AnyStateMachine, body: () => void): void {
  const catalogue = machines as Record<string, AnyStateMachine>;
  const real = machines[name];
  catalogue[name] = chart;
  try {
    body();
  } finally {
    catalogue[name] = real;
  }
}

/** Runs with a migration in the catalogue, and takes it out again. */
export function withMigration(from: string, migration: Migration, body: () => void): void {
  const catalogue = migrations as Record<string, Migration>;
  catalogue[from] = migration;
  try {
    body();
  } finally {
    delete catalogue[from];
  }
}
