/** Rows that come in at the top of a list: those that wait, and those that have just come. */
import { useRef } from 'preact/hooks';
import type { LiveRow } from '../../shapes/live.ts';
import type { News } from '../state/news.ts';
import { fill, useWords } from '../state/preferences.ts';

interface WaitingProps {
  news: News;
  /** Whether the list has a row by now. */
  isShown(row: LiveRow): boolean;
  /** Shows them. */
  show(): void;
}

/** How many new rows wait, where a list holds still. */
export function Waiting({ news: { waiting, pause }, isShown, show }: WaitingProps) {
  const words = useWords();
  const { isMore } = waiting;
  const count = waiting.rows.filter((row) => !isShown(row)).length;
  if (count === 0 && !isMore) return null;
  const sentence = count === 1 && !isMore ? words.newRows.one : words.newRows.other;
  const all = () => {
    pause(false);
    scrollTo(0, 0);
    show();
  };
  return (
    <button type="button" class="waiting" onClick={all}>
      <span aria-hidden="true">↑</span> {fill(sentence, { n: isMore ? `${count}+` : count })}
    </button>
  );
}

/** Which rows of a list have come since it was first there. `list` names it: another one begins anew. */
export function useArrived(list: string, rows: readonly string[]): ReadonlySet<string> {
  const kept = useRef<{ list: string; known: Set<string> | null; arrived: Set<string> }>({
    ...{ list, known: null, arrived: new Set() },
  });
  if (kept.current.list !== list) kept.current = { list, known: null, arrived: new Set() };
  const { known, arrived } = kept.current;
  if (known === null) {
    if (rows.length > 0) kept.current.known = new Set(rows);
    return arrived;
  }
  const next = new Set(rows);
  kept.current.arrived = new Set(rows.filter((row) => arrived.has(row) || !known.has(row)));
  kept.current.known = next;
  return kept.current.arrived;
}
