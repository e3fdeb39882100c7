/** What clients ask for and what they are told: the record that the auditor holds against the journal. */
import type { Answer } from '../../src/engine/commands.ts';

/** What was asked. `tag` of a creation is its externalRef, which no other has. */
export type Request =
  | { kind: 'charge'; tag: string; amount: number; expiresIn: number | null; key: string | null }
  | { kind: 'transfer'; tag: string; amount: number; key: string | null; to: string }
  | {
      kind: 'message';
      transaction: string;
      id: string | null;
      type: string;
      data: Record<string, unknown>;
      door: 'bank' | 'sandbox' | 'ops';
    }
  | { kind: 'refund'; transaction: string; amount: number | null; key: string | null }
  | { kind: 'cancel'; transaction: string }
  | { kind: 'adjust'; id: string; amount: number; allowNegative: boolean }
  /** Ops are about to do something that is no message. */
  | { kind: 'act'; id: string; asked: number };

/** `bankRefused`, `overloaded` and `malformed`: nothing happened. `unknown`: it may have taken effect. */
export type Result =
  | { kind: 'answered'; answer: Answer }
  | { kind: 'bankRefused' | 'overloaded' | 'malformed' | 'unknown' };

/** One thing that was asked of a process, and its result; null while nobody knows. */
export interface Operation {
  number: number;
  process: string;
  request: Request;
  /** Batches that were in the journal when it was asked, and when its result came. */
  seqBefore: number;
  seqAfter: number;
  result: Result | null;
}
