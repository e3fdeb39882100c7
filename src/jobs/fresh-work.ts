/** Takes up what a batch made due as soon as it is durable, without waiting for a tick. */
import type { Desk } from '../bank/desk.ts';
import type { Committed } from '../engine/actors/host.ts';
import type { FreshWork } from '../engine/engine.ts';
import { type ClaimOf, type Due, isOf } from '../engine/store/due.ts';
import type { DueIndex } from '../engine/store.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';

function countOf(kind: Due['kind'], due: readonly Due[]): number {
  return due.filter((each) => each.kind === kind).length;
}

/** Hands fresh deliveries to the dispatcher and fresh bank orders to the desk. */
export function freshWork(
  due: DueIndex,
  desk: Desk,
  dispatcher: Dispatcher,
  onTrouble: (error: unknown) => void,
): FreshWork {
  const release = (fresh: readonly Due[]): void => {
    desk.release(countOf('bank', fresh));
    dispatcher.room.release(countOf('delivery', fresh));
  };
  return {
    reserve: (fresh) => {
      const [first] = fresh;
      if (first === undefined) return true;
      const orders = countOf('bank', fresh);
      if (!desk.reserve(first.account, orders)) return false;
      if (dispatcher.room.reserve(countOf('delivery', fresh))) return true;
      desk.release(orders);
      return false;
    },
    release,
    takeUp: (committed: Committed) => {
      if (committed.claims.length === 0) return;
      const deliveries = new Map<string, ClaimOf<'delivery'>>();
      const orders: ClaimOf<'bank'>[] = [];
      for (const claim of committed.claims) {
        if (isOf(claim, 'delivery')) deliveries.set(claim.due.delivery, claim);
        else if (isOf(claim, 'bank')) orders.push(claim);
        // A timer that is due from its beginning is left to a sweep. The clock had come to its time, and may be behind now.
        else due.settle([{ claim, next: claim.due, clock: claim.due.at }]).catch(onTrouble);
      }
      if (deliveries.size > 0) dispatcher.dispatchFresh(committed, deliveries);
      if (orders.length > 0) void desk.carryOut(orders, true);
    },
  };
}
