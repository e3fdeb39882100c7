/** What a run is asked for, and what it came to. */

import type { Stores, StoresParts } from './stored.ts';

/** Which bank's adapter the processes run. */
export type BankName = 'sandbox' | 'api-pix';

export interface SimulationOptions {
  /** The seed decides where nothing is said. */
  bank?: BankName;
  /** Where the processes store their data: in memory where nothing is said. */
  storesOf?(parts: StoresParts): Stores;
  log?(line: string): void;
}

/** What a run came to; the same for the same seed and steps. */
export interface Summary {
  seed: number;
  steps: number;
  bank: BankName;
  operations: number;
  batches: number;
  transactions: number;
  deliveries: number;
  crashes: number;
  /** How often the wall clock was set. */
  clockSteps: number;
  /** Attempts that a URL let time out. */
  timeouts: number;
  /** How often each fault of the store happened, by moment and method, and of the bank, by call. */
  faults: Record<string, number>;
  /** How much lies at the real bank in the end, by kind and state; nothing with the sandbox. */
  atBank: Record<string, number>;
  /** Milliseconds of the simulation's own time. */
  elapsedMs: number;
  /** Of the last batch: two runs with one hash did the same, to the byte. */
  head: string;
}
