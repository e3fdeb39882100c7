/** An account's balance, now or at a time that is chosen, leg by leg, and how it went. */
import type { AccountDocument, LegSums } from '../../../shapes/account.ts';
import { Icon } from '../../parts/icon.tsx';
import { Money, reais } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { TimeField, timeText } from '../../parts/time.tsx';
import { choose, usePlace } from '../../router.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { BalanceCurve, SPANS, type Span, spanIn } from './curve.tsx';

/** The time at which the balance is looked at: it stands in the address. */
function Moment({ at }: { at: string | null }) {
  const words = useWords();
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <TimeField name="at" label={words.balanceAtLabel} at={at} />
      {at === null ? null : (
        <button type="button" onClick={() => choose({ at: '' })}>
          {words.backToNow}
          <Icon name="cross" size={13} />
        </button>
      )}
    </form>
  );
}

function Legs({ balances }: { balances: LegSums }) {
  const words = useWords();
  return (
    <dl class="facts">
      {(['clearing', 'fees', 'bank'] as const).map((leg) => (
        <div key={leg}>
          <dt>{words.leg[leg]}</dt>
          <dd>
            <Money cents={balances[leg]} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Spans({ span }: { span: Span }) {
  const words = useWords();
  return (
    <fieldset class="spans">
      <legend class="unseen">{words.curveSpan}</legend>
      {SPANS.map((each) => (
        <button
          key={each}
          type="button"
          class="quiet"
          aria-pressed={each === span}
          onClick={() => choose({ span: each }, { replace: true })}
        >
          {words.span[each]}
        </button>
      ))}
    </fieldset>
  );
}

interface BalanceProps {
  account: AccountDocument;
  /** Null: not read yet. */
  balances: LegSums | null;
  at: string | null;
}

export function Balance({ account, balances, at }: BalanceProps) {
  const words = useWords();
  const { language } = usePreferences();
  const span = spanIn(usePlace().query.get('span'));
  const title = at === null ? words.balance : fill(words.balanceAt, { time: timeText(language, at, 'full') });
  return (
    <Panel title={title} aside={<Moment at={at} />} class="balance">
      <div class="sums">
        <p class="large money">{balances === null ? '…' : reais(balances.available)}</p>
        {balances === null ? null : <Legs balances={balances} />}
      </div>
      <div class="course">
        <Spans span={span} />
        <BalanceCurve account={account} span={span} at={at} />
      </div>
    </Panel>
  );
}
