/** A webhook: its attempts as bars, what it answered, when the next one is, what was sent. */
import charts from 'pixstate:charts';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Attempt, Delivery, SentPayload } from '../../shapes.ts';
import { ActButton } from '../acts/button.tsx';
import { ApiError, payload } from '../api.ts';
import { Chart } from '../chart/chart.tsx';
import { walkedBy } from '../chart/path.ts';
import { useNow } from '../state/clock.ts';
import { fill, useWords } from '../state/preferences.ts';
import { DeliveryChip } from './chip.tsx';
import { CopiedText } from './copied.tsx';
import { Icon } from './icon.tsx';
import { Json } from './json.tsx';
import { leftText, Time } from './time.tsx';

const BARS = { step: 7, width: 5, height: 18, most: 12 };
const TEN_SECONDS_MS = 10_000;

function isSuccess({ statusCode }: Attempt): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

/** The newest attempts, each a bar as high as it took long, on the scale of logarithms. */
function Bars({ attempts }: { attempts: readonly Attempt[] }) {
  const words = useWords();
  const shown = attempts.slice(-BARS.most);
  const count = fill(attempts.length === 1 ? words.attemptsCount.one : words.attemptsCount.other, {
    n: attempts.length,
  });
  return (
    <svg
      class="attempts"
      role="img"
      aria-label={count}
      width={Math.max(1, shown.length) * BARS.step}
      height={BARS.height}
    >
      {shown.map((attempt, index) => {
        const part = Math.log10((attempt.durationMs ?? 0) + 1) / Math.log10(TEN_SECONDS_MS);
        const height = 5 + Math.min(1, part) * (BARS.height - 5);
        return (
          <rect
            key={attempt.at}
            class={isSuccess(attempt) ? 'good' : 'bad'}
            x={index * BARS.step}
            y={BARS.height - height}
            width={BARS.width}
            height={height}
            rx="1.5"
          />
        );
      })}
    </svg>
  );
}

function Next({ at }: { at: string }) {
  const words = useWords();
  const left = Date.parse(at) - useNow();
  return (
    <span class="weak" title={at}>
      {left > 0 ? fill(words.nextAttempt, { time: leftText(left) }) : words.nextAttemptNow}
    </span>
  );
}

/** What the last attempt brought, in a few characters. */
function Answer({ attempt }: { attempt: Attempt | undefined }) {
  const words = useWords();
  if (attempt === undefined) return <span class="weak">{words.noAttempts}</span>;
  const text = attempt.statusCode ?? words.noAnswer;
  return <code class={isSuccess(attempt) ? 'good-text' : 'bad-text'}>{text}</code>;
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  const words = useWords();
  if (attempts.length === 0) return null;
  return (
    <table class="small">
      <caption class="unseen">{words.attempts}</caption>
      <thead>
        <tr>
          <th scope="col">{words.attemptAt}</th>
          <th scope="col">{words.attemptAnswer}</th>
          <th scope="col" class="number">
            {words.attemptTook}
          </th>
        </tr>
      </thead>
      <tbody>
        {attempts.map((attempt) => (
          <tr key={attempt.at}>
            <td>
              <Time at={attempt.at} form="exact" />
            </td>
            <td>
              <Answer attempt={attempt} /> {attempt.error === null ? '' : attempt.error}
            </td>
            <td class="number">{attempt.durationMs === null ? '' : `${attempt.durationMs} ms`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What was sent, read when it is asked for. */
function Sent({
  transaction,
  event,
  isRevealed,
}: {
  transaction: string;
  event: string;
  isRevealed: boolean;
}) {
  const words = useWords();
  const [sent, setSent] = useState<SentPayload | null>(null);
  const [why, setWhy] = useState<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    payload(transaction, event, isRevealed, abort.signal).then(setSent, (error: unknown) => {
      if (!abort.signal.aborted)
        setWhy(error instanceof ApiError && error.message !== '' ? error.message : words.unreachable);
    });
    return () => abort.abort();
  }, [transaction, event, isRevealed, words]);
  if (why !== null) return <p class="bad-text">{fill(words.failed, { why })}</p>;
  if (sent === null) return <p class="weak">{words.loading}</p>;
  return <Json value={sent.payload} name={words.payload} />;
}

function Machine({ delivery: { status, nextAttemptAt } }: { delivery: Delivery }) {
  const words = useWords();
  const drawing = charts['webhook-delivery']?.tall;
  if (drawing === undefined) return null;
  const label = fill(words.chartLabel, { machine: 'webhook-delivery', state: status, path: status });
  return (
    <Chart
      drawing={drawing}
      label={label}
      state={status}
      walked={walkedBy(drawing, [])}
      allowed={[]}
      timers={nextAttemptAt === null ? [] : [{ name: 'retry', at: nextAttemptAt }]}
      pointed={null}
    />
  );
}

/** A new round of attempts for what has failed for good. */
function Retry({ delivery, again }: { delivery: Delivery; again(): void }) {
  const words = useWords();
  if (delivery.status !== 'dead' && delivery.status !== 'rejected') return null;
  return (
    <p>
      <ActButton act={{ kind: 'retry', deliveries: [delivery] }} done={again}>
        <Icon name="again" />
        {words.actRetry}
      </ActButton>
    </p>
  );
}

interface DeliveryItemProps {
  transaction: string;
  delivery: Delivery;
  isRevealed: boolean;
  /** What stands between event and state. */
  about?: ComponentChildren;
  /** Reads the page afresh. */
  again(): void;
  /** What stands first where it is opened. */
  more?: ComponentChildren;
}

/** A delivery as an item of a list, whose attempts and payload open in place. */
export function DeliveryItem({ transaction, delivery, isRevealed, again, about, more }: DeliveryItemProps) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const { event, url, status, attempts, nextAttemptAt } = delivery;
  return (
    <li>
      <button
        type="button"
        class="row"
        data-row
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={isOpen ? 'down' : 'right'} size={13} />
        <span class="line">
          <span class="event">{event}</span>
          {about}
          <DeliveryChip status={status} />
        </span>
        <span class="line second">
          <span class="url weak">{url}</span>
          <span class="result">
            <Bars attempts={attempts} /> <Answer attempt={attempts.at(-1)} />
            {nextAttemptAt === null ? null : <Next at={nextAttemptAt} />}
          </span>
        </span>
      </button>
      <div id={id} class="opened" hidden={!isOpen}>
        {isOpen ? (
          <>
            {more}
            <p class="url">{url}</p>
            <p>
              <CopiedText text={delivery.id} what="id" most={44} />
            </p>
            <Retry delivery={delivery} again={again} />
            <Attempts attempts={attempts} />
            <h3>{words.payload}</h3>
            <Sent transaction={transaction} event={delivery.eventId} isRevealed={isRevealed} />
            <h3>webhook-delivery</h3>
            <Machine delivery={delivery} />
          </>
        ) : null}
      </div>
    </li>
  );
}
