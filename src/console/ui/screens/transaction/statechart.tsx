/** The statechart over the page's whole width, at the present or at an earlier step of the path. */

import charts from 'pixstate:charts';
import { useEffect, useState } from 'preact/hooks';
import type { TransactionDocument } from '../../../shapes.ts';
import { Chart } from '../../chart/chart.tsx';
import type { Drawing, Chart as Drawings } from '../../chart/geometry.ts';
import { type KeyedEntry, type Step, stepsOf, walkedBy } from '../../chart/path.ts';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { timeText } from '../../parts/time.tsx';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';

/** A small chart is drawn larger, as far as it fits beside nothing. */
const LARGEST_SCALE = 1.3;
const ROOM = 700;

/** Below this the wide drawing's letters are too small to read. */
const NARROW = '(max-width: 760px)';

function useIsNarrow(): boolean {
  const [query] = useState(() => matchMedia(NARROW));
  const [isNarrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, [query]);
  return isNarrow;
}

export interface Scrubbed {
  /** The entry that is shown as if it were the newest; null: the present. */
  key: string | null;
  /** The entry that a reader points at. */
  pointed: string | null;
  show(key: string | null): void;
}

/** The states that were walked, as a sentence for those who don't see the drawing. */
function pathText(steps: readonly Step[]): string {
  const states = steps.map(({ to }) => to);
  return states.filter((state, index) => state !== states[index - 1]).join(' → ');
}

interface StepsProps {
  steps: readonly Step[];
  scrubbed: Scrubbed;
}

/** The buttons that lead along the path, as `[` and `]` do. */
function Steps({ steps, scrubbed: { key, show } }: StepsProps) {
  const words = useWords();
  const at = key === null ? steps.length - 1 : steps.findIndex((step) => step.key === key);
  const to = (index: number) => show(index >= steps.length - 1 ? null : (steps[index]?.key ?? null));
  return (
    <div class="steps">
      <button
        type="button"
        class="quiet square"
        aria-label={words.earlier}
        title={`${words.earlier}  [`}
        disabled={at <= 0}
        onClick={() => to(at - 1)}
      >
        <Icon name="left" />
      </button>
      <span aria-live="polite">{fill(words.step, { n: at + 1, of: steps.length })}</span>
      <button
        type="button"
        class="quiet square"
        aria-label={words.later}
        title={`${words.later}  ]`}
        disabled={at >= steps.length - 1}
        onClick={() => to(at + 1)}
      >
        <Icon name="right" />
      </button>
    </div>
  );
}

function Legend({ state, time, hasNext }: { state: string; time: string | null; hasNext: boolean }) {
  const words = useWords();
  const sentence = time === null ? words.chartState : words.chartThen;
  return (
    <div class="legend">
      <span>
        <i class="sample lit" /> {fill(sentence, { state, time: time ?? '' })}
      </span>
      <span>
        <i class="sample walked" /> {words.chartWalked}
      </span>
      {hasNext ? (
        <span>
          <i class="sample next" /> {words.chartPossible}
        </span>
      ) : null}
    </div>
  );
}

function Notes({ document, drawn }: { document: TransactionDocument; drawn: number }) {
  const words = useWords();
  const { version } = document.machine;
  const isPartial = document.before !== null;
  if (version === drawn && !isPartial) return null;
  return (
    <p class="note">
      {version === drawn ? '' : fill(words.chartOlder, { version, drawn })}{' '}
      {isPartial ? words.chartPartial : ''}
    </p>
  );
}

interface StatechartProps {
  document: TransactionDocument;
  entries: readonly KeyedEntry[];
  scrubbed: Scrubbed;
  /** What a press on a possible message does; undefined for who only reads. */
  send: ((message: string | null) => void) | undefined;
}

function Drawn({ document, entries, scrubbed, drawing, send }: StatechartProps & { drawing: Drawing }) {
  const words = useWords();
  const { language } = usePreferences();
  const steps = stepsOf(drawing, entries.toReversed());
  const { key, pointed } = scrubbed;
  const at = steps.findIndex((step) => step.key === key);
  const shown = at < 0 ? steps : steps.slice(0, at + 1);
  const last = shown.at(-1);
  const isPresent = at < 0 || last === undefined;
  const state = isPresent ? document.machine.state : last.to;
  const label = fill(words.chartLabel, { machine: document.machine.id, state, path: pathText(shown) });
  return (
    <>
      <div class="chart-bar">
        <Legend
          state={state}
          time={isPresent ? null : timeText(language, last.at, 'exact')}
          hasNext={isPresent && document.allowed.length > 0}
        />
        <Steps steps={steps} scrubbed={scrubbed} />
      </div>
      <Chart
        drawing={drawing}
        scale={Math.max(1, Math.min(LARGEST_SCALE, ROOM / drawing.width))}
        label={label}
        state={state}
        walked={walkedBy(drawing, shown)}
        allowed={isPresent ? document.allowed : []}
        timers={isPresent ? document.timers : []}
        pointed={steps.find((step) => step.key === pointed) ?? null}
        {...(send === undefined ? {} : { send })}
      />
    </>
  );
}

export function Statechart({ document, entries, scrubbed, send }: StatechartProps) {
  const words = useWords();
  const isNarrow = useIsNarrow();
  const { id, version } = document.machine;
  const drawings: Drawings | undefined = charts[id];
  if (drawings === undefined) {
    return (
      <Panel title={words.chart}>
        <p class="empty">{fill(words.chartUnknown, { machine: id })}</p>
      </Panel>
    );
  }
  return (
    <Panel title={words.chart} aside={<code>{`${id} · v${version}`}</code>} class="statechart">
      <Drawn
        document={document}
        entries={entries}
        scrubbed={scrubbed}
        drawing={isNarrow ? drawings.tall : drawings.wide}
        send={send}
      />
      <Notes document={document} drawn={drawings.version} />
    </Panel>
  );
}
