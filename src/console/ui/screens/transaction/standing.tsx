/** What stands beside the history: running timers, and where the money is now. */
import type { Posting, Timer, TransactionDocument } from '../../../shapes.ts';
import { timerName } from '../../chart/path.ts';
import { inOrder, Movement } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { leftText, Time } from '../../parts/time.tsx';
import { useNow } from '../../state/clock.ts';
import { useWords } from '../../state/preferences.ts';
import { SumsToZero } from './history.tsx';

const RADIUS = 13;
const AROUND = 2 * Math.PI * RADIUS;

/** How much of the time is left, as a ring. */
function Ring({ part }: { part: number }) {
  const left = Math.max(0, Math.min(1, part)) * AROUND;
  return (
    <svg class="ring" width="34" height="34" viewBox="-17 -17 34 34" aria-hidden="true" focusable="false">
      <circle class="track" r={RADIUS} />
      <circle class="left" r={RADIUS} transform="rotate(-90)" stroke-dasharray={`${left} ${AROUND}`} />
    </svg>
  );
}

function TimerRow({ timer: { name, at }, since }: { timer: Timer; since: string }) {
  const words = useWords();
  const names: Readonly<Record<string, string>> = words.timer;
  const left = Date.parse(at) - useNow();
  const whole = Date.parse(at) - Date.parse(since);
  return (
    <li>
      <Ring part={left / whole} />
      <div>
        <p>{names[timerName(name)] ?? name}</p>
        <p class="weak">
          <Time at={at} />
        </p>
      </div>
      <p class="left" role="timer">
        {left > 0 ? leftText(left) : words.timerDue}
      </p>
    </li>
  );
}

export function Timers({ document: { timers, createdAt } }: { document: TransactionDocument }) {
  const words = useWords();
  return (
    <Panel title={words.timers} class="timers">
      {timers.length === 0 ? (
        <p class="empty">{words.noTimers}</p>
      ) : (
        <ul>
          {timers.map((timer) => (
            <TimerRow key={timer.name} timer={timer} since={createdAt} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

const BAR = { width: 160, height: 8 };

/** A leg's sum as a bar to the right of the middle, or to the left of it. */
function Bar({ amount, largest }: { amount: number; largest: number }) {
  const half = BAR.width / 2;
  const width = largest === 0 ? 0 : Math.max(1, (Math.abs(amount) / largest) * (half - 2));
  return (
    <svg
      class={`bar ${amount > 0 ? 'plus' : 'minus'}`}
      viewBox={`0 0 ${BAR.width} ${BAR.height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect x={amount < 0 ? half - width : half} y="1" width={amount === 0 ? 0 : width} height="6" />
      <rect class="axis" x={half - 0.5} y="0" width="1" height={BAR.height} />
    </svg>
  );
}

export function Legs({ legs }: { legs: readonly Posting[] }) {
  const words = useWords();
  const names: Readonly<Record<string, string>> = words.leg;
  const largest = Math.max(0, ...legs.map(({ amount }) => Math.abs(amount)));
  return (
    <Panel
      title={words.money}
      aside={legs.length === 0 ? undefined : <SumsToZero postings={legs} />}
      class="where"
    >
      {legs.length === 0 ? (
        <p class="empty">{words.noMoney}</p>
      ) : (
        <ul>
          {inOrder(legs).map(({ leg, amount }) => (
            <li key={leg}>
              <span>{names[leg] ?? leg}</span>
              <Bar amount={amount} largest={largest} />
              <Movement cents={amount} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
