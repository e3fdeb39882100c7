/** What every store keeps, whatever it stores in. Each adapter's test runs it in a few lines. */
import { accountsContract } from './accounts.ts';
import { attentionContract } from './attention.ts';
import { backlogContract } from './backlog.ts';
import { claimsContract } from './due/claims.ts';
import { scheduleContract } from './due/schedule.ts';
import type { StoreHarness } from './harness.ts';
import { appendContract } from './journal/append.ts';
import { bytesContract } from './journal/bytes.ts';
import { entriesContract } from './journal/entries.ts';
import { readsContract } from './journal/reads.ts';
import { refusalsContract } from './journal/refusals.ts';
import { unfinishedContract } from './journal/unfinished.ts';
import { lifeContract } from './life.ts';

/**
 * Runs the contract. `start` gives a store without data. `rounds`: how often races are run; `silentAfterMs`:
 * after how long without a heartbeat its stores lose their claims.
 *
 * No test expects anything across accounts. Due times differ by whole seconds or are the same, so that a store may
 * put what is due within some ms together, and give it at the end of them. Where silence matters, an incarnation beats before it claims.
 */
export function storeContract(
  name: string,
  start: () => Promise<StoreHarness>,
  options: { rounds?: number; silentAfterMs: number } = { silentAfterMs: 10_000 },
): void {
  const context = { name, start, rounds: options.rounds ?? 4, silentAfterMs: options.silentAfterMs };
  appendContract(context);
  readsContract(context);
  entriesContract(context);
  refusalsContract(context);
  bytesContract(context);
  unfinishedContract(context);
  scheduleContract(context);
  claimsContract(context);
  backlogContract(context);
  attentionContract(context);
  accountsContract(context);
  lifeContract(context);
}
