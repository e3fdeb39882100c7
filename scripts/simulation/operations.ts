/** What clients ask for and what they are told: the record that the auditor holds against the journal. */
import type { AccountChanges } from '../../src/accounts/manage.ts';
import type { Answer } from '../../src/engine/commands.ts';
import type { FailedFilter } from '../../src/engine/store/deliveries.ts';
import type { AttentionFilter } from '../../src/engine/store.ts';

/** What an act of ops came to. */
export type Did = 'done' | 'nothing';

/** What was asked. `tag` of a creation is its externalRef, which no other has. */
export type Request =
  | OpsRequest
  /** Ops have a payment given back once more. */
  | { kind: 'returnAgain'; transaction: string; endToEndId: string }
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
  /** `ops`: the id under which ops order it; null: its merchant does. */
  | { kind: 'refund'; transaction: string; amount: number | null; key: string | null; ops: string | null }
  | { kind: 'cancel'; transaction: string; ops: string | null }
  | { kind: 'adjust'; id: string; amount: number; allowNegative: boolean }
  /** Ops are about to do something that is no message. */
  | { kind: 'act'; id: string; asked: number };

/** What ops do under an id of theirs; which part is there, the act says. */
export interface OpsRequest {
  kind: 'ops';
  id: string;
  act: 'settings' | 'rotate' | 'retry' | 'done';
  changes?: AccountChanges;
  url?: string;
  ids?: string[];
  filter?: FailedFilter & AttentionFilter;
}

/** `bankRefused`, `overloaded` and `malformed`: nothing happened. `unknown`: it may have taken effect. */
export type Result =
  | { kind: 'answered'; answer: Answer }
  /** Ops were told that it is done, or that there is nothing to do. */
  | { kind: 'did'; did: Did }
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
