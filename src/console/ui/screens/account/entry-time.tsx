/** When an entry was written; where it is a transaction's, the way to its page. */
import type { StatementRow } from '../../../shapes/account.ts';
import { Time } from '../../parts/time.tsx';
import { addressOf } from '../../router.ts';

export function EntryTime({ at, transaction }: Pick<StatementRow, 'at' | 'transaction'>) {
  if (transaction === null) return <Time at={at} />;
  return (
    <a class="row-link" href={addressOf(transaction)} data-row>
      <Time at={at} />
    </a>
  );
}
