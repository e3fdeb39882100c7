/** What comes while a page is open: a page reads again when there is news, or holds still and says how much waits. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { LiveEvent, LiveRow } from '../../shapes/live.ts';
import type { Values } from '../api.ts';
import type { LiveState } from '../live.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import type { Reading } from './reading.ts';
import { useSession } from './session.ts';

/** Hears the stream that the query asks for, as long as the component is there; null: none. */
function useStream(query: Values | null, hear: (event: LiveEvent) => void): LiveState {
  const session = useSession();
  const [state, setState] = useState<LiveState>('connecting');
  const latest = useRef({ hear, session });
  latest.current = { hear, session };
  const key = JSON.stringify(query);
  useEffect(() => {
    if (query === null) return;
    setState('connecting');
    let isLeft = false;
    let leave = () => {};
    // Its script comes once the page is there.
    import('../live.ts').then(
      ({ listen }) => {
        if (isLeft) return;
        leave = listen(query, {
          hear: (event) => latest.current.hear(event),
          became: setState,
          ended: () => latest.current.session.ended(),
        });
      },
      () => setState('lost'),
    );
    return () => {
      isLeft = true;
      leave();
    };
    // The key says what the query is.
  }, [key]);
  return state;
}

/** New rows that a page may not show yet; `isMore`: besides others. */
interface Waiting {
  rows: readonly LiveRow[];
  isMore: boolean;
}

export interface News {
  state: LiveState;
  isPaused: boolean;
  /** Paused, or a reader is further down. */
  isHeld: boolean;
  /** How often there was something to read. */
  rings: number;
  waiting: Waiting;
  pause(on: boolean): void;
  /** What waits is being read. */
  taken(): void;
}

export interface NewsOptions {
  /** What is shown: of another one nothing waits. */
  key: string;
  query: Values;
  /** Whether a row is one that the page would show as a new one. */
  counts(row: LiveRow): boolean;
  /** Rows come in at the top: whoever reads further down isn't disturbed. */
  isList: boolean;
}

const NOTHING: Waiting = { rows: [], isMore: false };
/** So many are counted. */
const MOST_WAITING = 1_000;
/** Whoever has scrolled less is at the top. */
const TOP_PX = 60;

function useIsAtTop(): boolean {
  const [isAtTop, setAtTop] = useState(scrollY < TOP_PX);
  useEffect(() => {
    const scrolled = () => setAtTop(scrollY < TOP_PX);
    addEventListener('scroll', scrolled, { passive: true });
    return () => removeEventListener('scroll', scrolled);
  }, []);
  return isAtTop;
}

export function useNews({ key, query, counts, isList }: NewsOptions): News {
  const [isPaused, pause] = useState(false);
  const [rings, setRings] = useState(0);
  const [waiting, setWaiting] = useState(NOTHING);
  const isAtTop = useIsAtTop();
  const ring = () => setRings((count) => count + 1);
  const state = useStream(query, (event) => {
    if (event.event === 'entries') {
      const own = event.rows.filter(counts);
      setWaiting(({ rows, isMore }) => ({
        rows: [...rows, ...own].slice(0, MOST_WAITING),
        isMore: isMore || event.missed > 0 || rows.length + own.length > MOST_WAITING,
      }));
    }
    if (event.event !== 'beat' && event.event !== 'bye') ring();
  });
  const taken = useCallback(() => setWaiting(NOTHING), []);
  useEffect(taken, [key, taken]);
  // Whether only the stream is lost, or the server, is seen by reading.
  useEffect(() => {
    if (state === 'lost') ring();
  }, [state]);
  useShortcuts({ p: () => pause(!isPaused) });
  return { state, isPaused, isHeld: isPaused || (isList && !isAtTop), rings, waiting, pause, taken };
}

/**
 * Reads again when there is news: never while it is being read, and not more often than each `restMs`. `takes`: what
 * waits is shown by it.
 */
export function useBell(
  news: News | null,
  { isBusy, again }: Pick<Reading<unknown>, 'isBusy' | 'again'>,
  { isHeld, restMs, takes = true }: { isHeld: boolean; restMs: number; takes?: boolean },
): void {
  const heard = useRef(0);
  const readAt = useRef(0);
  const { rings = 0 } = news ?? {};
  useEffect(() => {
    if (isHeld || isBusy || rings === heard.current) return;
    const rest = readAt.current + restMs - performance.now();
    const timer = setTimeout(
      () => {
        heard.current = rings;
        readAt.current = performance.now();
        if (takes) news?.taken();
        again();
      },
      Math.max(0, rest),
    );
    return () => clearTimeout(timer);
  }, [rings, isHeld, isBusy, again]);
}
