/** Charges under protest (MED): each of them waits until somebody decides. */
import type { NowDocument } from '../../../shapes/now.ts';
import type { TransactionRow } from '../../../shapes.ts';
import { ActButton } from '../../acts/button.tsx';
import { protests as readProtests } from '../../api.ts';
import { End } from '../../parts/end.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Money } from '../../parts/money.tsx';
import { Age } from '../../parts/time.tsx';
import { addressOf } from '../../router.ts';
import { usePages } from '../../state/pages.ts';
import { CaseHeading, Since } from './case.tsx';
import { useNowWords } from './words.ts';

const ROWS = 5;

function Row({ row, isFirst, done }: { row: TransactionRow; isFirst: boolean; done(): void }) {
  const words = useNowWords();
  const { id, accountName, amount, updatedAt } = row;
  return (
    <li>
      <a class="cut" href={addressOf(id)} data-row>
        {accountName} <code>{id.slice(0, 8)}</code>
        <span class="unseen">{id.slice(8)}</span>
      </a>
      <Money cents={amount} />
      <Age at={updatedAt} />
      <ActButton
        act={{ kind: 'message', transaction: id, document: null, message: null }}
        done={done}
        class={isFirst ? 'strong' : ''}
      >
        {words.protests.decide} <span class="unseen">{id}</span>
      </ActButton>
    </li>
  );
}

interface ProtestCardProps {
  protests: NowDocument['protests'];
  /** Reads the page afresh. */
  again(): void;
}

export function ProtestCard({ protests: { n, sum, complete }, again }: ProtestCardProps) {
  const { protests: words } = useNowWords();
  const { reading, pages, load, restart } = usePages('protests', (after, signal) =>
    readProtests({ after, limit: ROWS }, signal),
  );
  const rows = pages.flatMap((page) => page.rows);
  const [oldest] = rows;
  // The last one was decided: the count follows.
  if (reading.value !== null && oldest === undefined) return null;
  return (
    <li class="panel cause care">
      <Icon name="triangle" />
      <CaseHeading sentence={words.title[n === 1 ? 'one' : 'other']} count={n} sum={sum} isWhole={complete} />
      {oldest === undefined ? null : <Since at={oldest.updatedAt} />}
      <p class="meaning weak">{words.what}</p>
      <ul class="protests" aria-label={words.list}>
        {rows.map((row) => (
          <Row
            key={row.id}
            row={row}
            isFirst={row === oldest}
            done={() => {
              restart();
              again();
            }}
          />
        ))}
      </ul>
      <End pages={pages} load={load} />
    </li>
  );
}
