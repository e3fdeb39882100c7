/**
 * The side effects that a statechart can ask for. They are named actions with JSON params: the engine reads
 * them as data and nothing runs when a transition is computed.
 */
import type { EventSubject } from '../src/domain/events.ts';
import type { Posting } from '../src/domain/money.ts';

/** Postings of one transition; they sum to zero (I1). */
export interface PostParams {
  postings: Posting[];
}

/**
 * The event that merchants get for one status change, `pix-in.paid` for example. `about`: what it tells of, where that
 * is a part of the transaction.
 */
export interface EmitParams {
  event: string;
  about?: EventSubject;
}

/** What a statechart's action is when the engine reads it. */
export type SideEffect =
  | { type: 'post'; params: PostParams }
  | { type: 'emit'; params: EmitParams }
  | { type: 'orderPayout'; params: { amount: number } }
  | { type: 'orderRefund'; params: { refundId: string } }
  /** Money went astray: a person must know. */
  | { type: 'alarm'; params: { refundId: string; standing: number } };

/** The actions' implementations for `setup()`: there are none, since the engine only reads their params. */
export const sideEffects = {
  post: (_: unknown, _params: PostParams): void => {},
  emit: (_: unknown, _params: EmitParams): void => {},
  orderPayout: (_: unknown, _params: { amount: number }): void => {},
  orderRefund: (_: unknown, _params: { refundId: string }): void => {},
  alarm: (_: unknown, _params: { refundId: string; standing: number }): void => {},
};

/** The event that a status change emits. */
export function emit<Name extends string>(event: Name): { type: 'emit'; params: { event: Name } } {
  return { type: 'emit', params: { event } };
}
