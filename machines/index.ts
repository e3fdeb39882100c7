/** The catalogue: machine and version to statechart, and how snapshots of older versions come up to date. */
import type { AnyStateMachine } from 'xstate';
import { cashout } from './cashout.ts';
import { pixIn } from './pix-in.ts';
import { cashout as cashout1 } from './v1/cashout.ts';
import { cashoutFrom1, pixInFrom1 } from './v1/migrations.ts';
import { pixIn as pixIn1 } from './v1/pix-in.ts';
import { webhookDelivery } from './webhook-delivery.ts';

/** What is stored of a transaction's state: plain JSON, readable by a person. */
export interface Snapshot {
  readonly machine: string;
  readonly version: string;
  readonly value: string;
  readonly context: object;
}

/** A pure function from a snapshot of one version to the next version's. */
export type Migration = (snapshot: Snapshot) => Snapshot;

/** The statecharts that new transactions and deliveries get. */
export const machines = {
  'pix-in': pixIn,
  cashout,
  'webhook-delivery': webhookDelivery,
} as const;

export type MachineName = keyof typeof machines;

/** Migrations by `machine@version` that they start from; a machine's first version has none. */
export const migrations: Readonly<Record<string, Migration>> = {
  'cashout@1': cashoutFrom1,
  'pix-in@1': pixInFrom1,
};

/** The charts of transactions that were released before, by version: word for word as they were. */
export const released: Readonly<Record<string, Readonly<Record<'pix-in' | 'cashout', AnyStateMachine>>>> = {
  '1': { 'pix-in': pixIn1, cashout: cashout1 },
};
