/** Ends claims, again where the store couldn't be reached: what isn't settled stays with a process that lives. */
import { again } from '../waiting.ts';
import { type Claim, type DueIndex, type Settlement, StoreUnavailable } from './store.ts';

const TRIES = 8;
const FIRST_PAUSE_MS = 50;

function surely(work: () => Promise<unknown>): Promise<unknown> {
  return again(work, (error, attempt) => {
    const isAway = error instanceof StoreUnavailable && attempt < TRIES;
    return isAway ? FIRST_PAUSE_MS * 2 ** attempt : null;
  });
}

/** @throws StoreUnavailable where the store stays away for long: another process takes over what is left. */
export async function settleSurely(due: DueIndex, settlements: Settlement[], parked: Claim[]): Promise<void> {
  if (settlements.length > 0) await surely(() => due.settle(settlements));
  if (parked.length > 0) await surely(() => due.park(parked));
}
