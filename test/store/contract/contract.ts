/** What every store keeps, whatever it stores in. Each adapter's test runs it in a few lines. */
import { accountsContract } from './accounts.ts';
import { attentionContract } from './attention.ts';
import { backlogContract } from './backlog.ts';
import { claimsContract } from './due/claims.ts';
import { clockContract } from './due/clock.ts';
import { endingsContract } from './due/endings.ts';
import { scheduleContract } from './due/schedule.ts';
import { takeoversContract } from './due/takeovers.ts';
import type { StoreHarness } from './harness.ts';
import { appendContract } from './journal/append.ts';
import { bytesContract } from './journal/bytes.ts';
import { entriesContract } from './journal/entries.ts';
import { failedContract } from './journal/failed.ts';
import { newestContract } from './journal/newest.ts';
import { quotedContract } from './journal/quoted.ts';
import { readsContract } from './journal/reads.ts';
import { refusalsContract } from './journal/refusals.ts';
import { unfinishedContract } from './journal/unfinished.ts';
import { lifeContract } from './life.ts';
import { marksContract } from './marks.ts';

/**
 * Runs the contract. `start` gives a store without data. `rounds`: how often races are run; `silentAfterMs`:
 * after how long without a heartbeat its stores lose their claims to others; null where one process has the data, and
 * its claims end with it.
 *
 * No test expects anything across accounts. Due times differ by whole seconds or are the same, so that a store may
 * put what is due within some ms together, and give it at the end of them. Where silence matters, an incarnation beats before it claims.
 */
export function storeContract(
  name: string,
  start: () => Promise<StoreHarness>,
  options: { rounds?: number; silentAfterMs: number | null } = { silentAfterMs: 10_000 },
): void {
  const { rounds = 4, silentAfterMs } = options;
  const context = { name, start, rounds, silentAfterMs: silentAfterMs ?? 0 };
  appendContract(context);
  readsContract(context);
  entriesContract(context);
  refusalsContract(context);
  newestContract(context);
  quotedContract(context);
  bytesContract(context);
  unfinishedContract(context);
  failedContract(context);
  scheduleContract(context);
  clockContract(context);
  claimsContract(context);
  endingsContract(context);
  if (silentAfterMs !== null) takeoversContract(context);
  backlogContract(context);
  attentionContract(context);
  accountsContract(context);
  marksContract(context);
  lifeContract(context);
}
