/** What operators' acts are done with, and how they are refused. */
import type { Accounts } from '../../accounts/manage.ts';
import type { StuckRule } from '../../engine/attention/stuck.ts';
import type { Payments } from '../../engine/payments.ts';
import type { Acting, OpsParts } from '../../ops/acting.ts';
import type { RetryRuns } from '../../ops/retry-runs.ts';
import type { SettingsRules } from '../../ops/rules.ts';
import { ConsoleError } from '../server/errors.ts';

export interface ActsParts extends OpsParts, SettingsRules {
  accounts: Accounts;
  payments: Payments;
  /** No message is the bank's alone. */
  everyDoorSpeaks: boolean;
  /** By which items are told to be stuck. */
  stuckRule(): StuckRule;
  runs: RetryRuns;
}

/** Does one deed. @throws ConsoleError, ApiError, and what the doors of ops throw */
export type Doing<Deed> = (parts: ActsParts, deed: Deed, acting: Acting) => Promise<object>;

export function noAccount(): ConsoleError {
  return new ConsoleError('ACCOUNT_NOT_FOUND', 'There is no such account.');
}
