/** Ends claims, again where the store couldn't be reached: what isn't settled stays with a process that lives. */
import { type Claim, type Settlement, type Store, StoreUnavailable } from './store.ts';

const TRIES = 8;
const FIRST_PAUSE_MS = 50;

async function surely(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || attempt === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** attempt));
    }
  }
}

/** @throws StoreUnavailable where the store stays away for long: another process takes over what is left. */
export async function settleSurely(store: Store, settlements: Settlement[], parked: Claim[]): Promise<void> {
  if (settlements.length > 0) await surely(() => store.settle(settlements));
  if (parked.length > 0) await surely(() => store.park(parked));
}
