/** The strip of figures; what is not known is not there. */
import type { ComponentChildren } from 'preact';
import type { Figures, Following } from '../../../shapes/now.ts';
import { Icon } from '../../parts/icon.tsx';
import { reais } from '../../parts/money.tsx';
import { Age, LOCALES, timeText } from '../../parts/time.tsx';
import { fill, usePreferences } from '../../state/preferences.ts';
import { useNowWords } from './words.ts';

const BAR = { count: 40, step: 2.5, width: 1.5, height: 24 };
/** What was read again so long ago is told with its time. */
const LATE_ROWS = 10_000;

function Bars({ perMin }: { perMin: Figures['perMin'] }) {
  const words = useNowWords();
  const shown = perMin.slice(-BAR.count);
  const most = Math.max(1, ...shown.map((count) => count ?? 0));
  return (
    <svg
      class="bars"
      role="img"
      aria-label={fill(words.bars, { minutes: BAR.count, most: Math.max(0, ...shown.map((n) => n ?? 0)) })}
      width={BAR.count * BAR.step}
      height={BAR.height}
    >
      <rect class="base" y={BAR.height - 1} width={BAR.count * BAR.step} height={1} />
      {shown.map((count, index) => {
        if (count === null) return null;
        const height = Math.max(1, Math.round((count / most) * BAR.height));
        return (
          <rect key={index} x={index * BAR.step} y={BAR.height - height} width={BAR.width} height={height} />
        );
      })}
    </svg>
  );
}

function Figure({ value, children }: { value: ComponentChildren; children: ComponentChildren }) {
  return (
    <li>
      <b class="value">{value}</b>
      <span class="weak">{children}</span>
    </li>
  );
}

function Verified({ verified }: { verified: Following }) {
  const words = useNowWords();
  const { language } = usePreferences();
  const { ok, at, lag } = verified;
  const icon = (
    <span class={ok ? 'good-text' : 'bad-text'}>
      <Icon name={ok ? 'tick' : 'cross'} size={20} />
    </span>
  );
  if (!ok) return <Figure value={icon}>{words.addsUpNot}</Figure>;
  if (at === null)
    return <Figure value={new Intl.NumberFormat(LOCALES[language]).format(lag)}>{words.unread}</Figure>;
  if (lag > LATE_ROWS)
    return <Figure value={icon}>{fill(words.addsUpTo, { time: timeText(language, at, 'full') })}</Figure>;
  return (
    <Figure value={icon}>
      {words.addsUp} · <Age at={at} />
    </Figure>
  );
}

export function Strip({ figures }: { figures: Figures }) {
  const words = useNowWords();
  const { language } = usePreferences();
  const { perMin, firstAttempt, openCashouts, waiting, verified, shared } = figures;
  const own = shared ? ` (${words.thisServer})` : '';
  const whole = new Intl.NumberFormat(LOCALES[language]);
  const percent = new Intl.NumberFormat(LOCALES[language], { style: 'percent', maximumFractionDigits: 1 });
  const known = perMin.at(-1) ?? null;
  return (
    <ul class="panel strip" aria-label={words.figures}>
      {known === null ? null : (
        <Figure
          value={
            <>
              {whole.format(known)} <Bars perMin={perMin} />
            </>
          }
        >
          {words.perMinute + own}
        </Figure>
      )}
      {firstAttempt === null ? null : (
        <Figure value={percent.format(firstAttempt.taken / firstAttempt.of)}>
          {words.firstAttempt + own}
        </Figure>
      )}
      <Figure value={`${openCashouts.complete ? '' : '≥ '}${whole.format(openCashouts.n)}`}>
        {words.openTransfers}
        {openCashouts.n === 0 ? '' : ` · ${reais(openCashouts.sum)}`}
      </Figure>
      {waiting === null ? null : (
        <Figure value={`${waiting.complete ? '' : '≥ '}${whole.format(waiting.n)}`}>{words.waiting}</Figure>
      )}
      {verified === null ? null : <Verified verified={verified} />}
    </ul>
  );
}
