/** Reads something, and again after a while, so that an open page doesn't go stale unsaid. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { now } from './clock.ts';
import { useSession } from './session.ts';

export interface Reading<Value> {
  /** The newest that was read; null before the first answer. */
  value: Value | null;
  /** When that was, in ms. */
  readAt: number;
  /** Why the newest attempt failed; null where it didn't. */
  error: ApiError | null;
  /** Under way. */
  isBusy: boolean;
  again(): void;
}

export interface ReadingOptions<Value> {
  /** What is read: another key is read at once, and what was read before is gone. */
  key: string;
  read(signal: AbortSignal): Promise<Value>;
  /** ms until it is read again; null: only when it is asked for. */
  restsFor(value: Value): number | null;
  /** It isn't read again by itself: what is seen stays. */
  isHeld?: boolean;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;

interface State<Value> {
  key: string;
  value: Value | null;
  readAt: number;
  error: ApiError | null;
  failures: number;
  isBusy: boolean;
}

function nothing<Value>(key: string): State<Value> {
  return { key, value: null, readAt: 0, error: null, failures: 0, isBusy: true };
}

/** How long to wait before the next reading; null: for ever. */
function restOf<Value>(state: State<Value>, restsFor: (value: Value) => number | null): number | null {
  const { error, failures, value } = state;
  if (error !== null) {
    const isPassing = error.status === 0 || error.status >= 500;
    return isPassing ? Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)) : null;
  }
  return value === null ? null : restsFor(value);
}

export function useReading<Value>({
  key,
  read,
  restsFor,
  isHeld = false,
}: ReadingOptions<Value>): Reading<Value> {
  const session = useSession();
  const [kept, setState] = useState<State<Value>>(() => nothing(key));
  const [round, setRound] = useState(0);
  const latest = useRef({ read, restsFor, session });
  latest.current = { read, restsFor, session };
  const state = kept.key === key ? kept : nothing<Value>(key);
  const again = useCallback(() => setRound((count) => count + 1), []);

  // A further round reads the same again.
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => (before.key === key ? { ...before, isBusy: true } : nothing(key)));
    latest.current.read(abort.signal).then(
      (value) => {
        if (abort.signal.aborted) return;
        setState({ key, value, readAt: now(), error: null, failures: 0, isBusy: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const failed =
          error instanceof ApiError ? error : new ApiError(0, { error: 'BROKEN', message: String(error) });
        const { session } = latest.current;
        if (failed.status === 401) session.ended();
        // Who was an operator when the page was opened is none any more.
        if (failed.code === 'OPERATORS_ONLY') session.again().catch(() => {});
        setState((before) => ({ ...before, error: failed, failures: before.failures + 1, isBusy: false }));
      },
    );
    return () => abort.abort();
  }, [key, round]);

  useEffect(() => {
    if (state.isBusy || (isHeld && state.error === null)) return;
    const rest = restOf(state, latest.current.restsFor);
    if (rest === null) return;
    // A page that nobody sees reads nothing: it reads at once when it is seen again.
    const seen = () => {
      if (!document.hidden) again();
    };
    const timer = setTimeout(() => {
      if (document.hidden) document.addEventListener('visibilitychange', seen, { once: true });
      else again();
    }, rest);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [state, isHeld, again]);

  return { value: state.value, readAt: state.readAt, error: state.error, isBusy: state.isBusy, again };
}
