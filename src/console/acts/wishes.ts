/** What an operator wishes to be done, as the console's thread gives it to the engine's: its form was checked. */
import type { By } from '../../domain/messages.ts';
import type { AttentionKind } from '../../engine/journal.ts';
import type {
  AdjustWish,
  MessageWish,
  RefundWish,
  RetryIdsWish,
  RetryUrlWish,
  RotateWish,
} from '../shapes/acts.ts';

/** Without what all of them have; what was left out is null. */
type Own<Wish> = Required<Omit<Wish, 'id' | 'reason'>>;

export type Deed =
  | ({ kind: 'message'; transaction: string } & Own<MessageWish>)
  | ({ kind: 'refund'; transaction: string } & Own<RefundWish>)
  | { kind: 'cancel'; transaction: string }
  | ({ kind: 'retry' } & Own<RetryIdsWish>)
  | ({ kind: 'retryUrl' } & Own<RetryUrlWish>)
  | { kind: 'done'; of: AttentionKind; ids: string[] }
  | ({ kind: 'adjust'; account: string } & Own<AdjustWish>)
  | { kind: 'settings'; account: string; changes: Record<string, unknown>; version: number | null }
  | ({ kind: 'rotate'; account: string } & Own<RotateWish>);

export type DeedOf<Kind extends Deed['kind']> = Deed & { kind: Kind };

/** Who does it, why, and under which id it is done once. */
export interface ActWish {
  id: string;
  by: By;
  deed: Deed;
}

/** An answer, whether it was done or not. */
export interface Acted {
  status: number;
  headers: Record<string, string>;
  body: object;
}
