/** How a balance went: steps between the times that were read. A press on it chooses the time. */
import { useCallback, useState } from 'preact/hooks';
import type { AccountDocument, Curve } from '../../../shapes/account.ts';
import { curve } from '../../api.ts';
import { reais } from '../../parts/money.tsx';
import { timeText } from '../../parts/time.tsx';
import { choose } from '../../router.ts';
import { now } from '../../state/clock.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';

const HOUR_MS = 3_600_000;
const LENGTHS = {
  h24: 24 * HOUR_MS,
  d7: 7 * 24 * HOUR_MS,
  d30: 30 * 24 * HOUR_MS,
  all: Number.POSITIVE_INFINITY,
};

export type Span = keyof typeof LENGTHS;
export const SPANS = Object.keys(LENGTHS) as Span[];

/** The times between which a span lies that ends at a time (null: now), ISO. */
export function windowOf(createdAt: string, span: Span, at: string | null): { from: string; to: string } {
  const to = at === null ? now() : Date.parse(at);
  // Nothing was before the account; a moment of width where it is asked for at its beginning.
  const from = Math.min(to - 1, Math.max(to - LENGTHS[span], Date.parse(createdAt)));
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The span that stands in the address. */
export function spanIn(chosen: string | null): Span {
  return SPANS.find((each) => each === chosen) ?? 'd7';
}

const EVERY_MS = 30_000;
const SIZE = { width: 600, height: 120, margin: 6 };

type Points = Curve['points'];

interface Drawn {
  line: string;
  area: string;
  low: number;
  high: number;
}

/** A balance holds until the next time that was read. */
function draw(points: Points): Drawn {
  const balances = points.map(([, balance]) => balance);
  const [low, high] = [Math.min(...balances), Math.max(...balances)];
  const { width, height, margin } = SIZE;
  const y = (balance: number) =>
    low === high ? height / 2 : height - margin - ((balance - low) / (high - low)) * (height - 2 * margin);
  const step = width / Math.max(1, points.length - 1);
  const steps = balances.map((balance, index) => `H${(index * step).toFixed(1)}V${y(balance).toFixed(1)}`);
  const line = `M0 ${y(balances[0] ?? 0).toFixed(1)}${steps.join('')}`;
  return { line, area: `${line}V${height}H0z`, low, high };
}

function Drawing({ points }: { points: Points }) {
  const words = useWords();
  const { language } = usePreferences();
  const [pointed, point] = useState<number | null>(null);
  const { line, area, low, high } = draw(points);
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const time = (at: string) => timeText(language, at, 'full');
  const label = fill(words.curveLabel, {
    from: time(first[0]),
    to: time(last[0]),
    first: reais(first[1]),
    last: reais(last[1]),
    low: reais(low),
    high: reais(high),
  });
  const nth = (event: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(
      points.length - 1,
      Math.max(0, Math.floor(((event.clientX - left) / width) * points.length)),
    );
  };
  const shown = pointed === null ? undefined : points[pointed];
  const x = ((pointed ?? 0) / Math.max(1, points.length - 1)) * SIZE.width;
  return (
    <figure class="curve">
      <p class="weak">{reais(high)}</p>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: by keys the time is chosen in the field above. */}
      <svg
        role="img"
        aria-label={label}
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        preserveAspectRatio="none"
        onPointerMove={(event) => point(nth(event))}
        onPointerLeave={() => point(null)}
        onClick={(event) => choose({ at: points[nth(event)]?.[0] ?? '' })}
      >
        <path class="area" d={area} />
        <path class="line" d={line} />
        {shown === undefined ? null : <path class="pointed" d={`M${x} 0V${SIZE.height}`} />}
      </svg>
      <p class="weak">{low === high ? '\u00a0' : reais(low)}</p>
      <figcaption class="weak">
        <span>{time(first[0])}</span>
        <span>{shown === undefined ? '' : `${time(shown[0])} · ${reais(shown[1])}`}</span>
        <span>{time(last[0])}</span>
      </figcaption>
    </figure>
  );
}

interface BalanceCurveProps {
  account: AccountDocument;
  span: Span;
  /** It ends at this time; null: now. */
  at: string | null;
}

export function BalanceCurve({ account: { id, createdAt }, span, at }: BalanceCurveProps) {
  const words = useWords();
  const read = useCallback(
    (signal: AbortSignal) => {
      return curve(id, { ...windowOf(createdAt, span, at), points: 100 }, signal);
    },
    [id, createdAt, span, at],
  );
  const reading = useReading({
    key: JSON.stringify([span, at]),
    read,
    restsFor: () => (at === null ? EVERY_MS : null),
  });
  const { value, error } = reading;
  if (value === null)
    return <p class="empty">{error === null ? words.loading : fill(words.failed, { why: error.message })}</p>;
  return (
    <>
      <Drawing points={value.points} />
      {value.complete ? null : <p class="weak">{words.curveRough}</p>}
    </>
  );
}
