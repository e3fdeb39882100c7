/**
 * A list that comes by pages: the first one is read again where there is news, and now and then, until a reader has gone
 * further.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { type News, useBell } from './news.ts';
import { type Reading, useReading } from './reading.ts';
import { useSession } from './session.ts';

const EVERY_MS = 5_000;
/** What isn't told by the stream is seen by then. */
export const LIVE_EVERY_MS = 10_000;
/** Under load the list is read so often. */
const REST_MS = 1_000;

export interface Pages<Page> {
  reading: Reading<Page>;
  /** Those that were read, in their order. */
  pages: readonly Page[];
  /** ms between two readings of the first one; null: it holds still. */
  everyMs: number | null;
  /** Reads the page behind the others. */
  load(cursor: string): void;
  /** Goes back to the first page, as it is now. */
  restart(): void;
}

/** `key`: what is read; another one begins anew. `cursor`: null for the first page. `news`: null where none is heard. */
export function usePages<Page>(
  key: string,
  read: (cursor: string | null, signal?: AbortSignal) => Promise<Page>,
  news: News | null = null,
): Pages<Page> {
  const session = useSession();
  const [further, setFurther] = useState<{ key: string; pages: Page[] }>({ key, pages: [] });
  useEffect(() => setFurther({ key, pages: [] }), [key]);
  const others = further.key === key ? further.pages : [];
  // Once a reader has gone further back, the first page holds still: rows would come twice, or none.
  const isHeld = others.length > 0 || news?.isHeld === true;
  const everyMs = isHeld ? null : news?.state === 'open' ? LIVE_EVERY_MS : EVERY_MS;
  const reading = useReading({ key, read: (signal) => read(null, signal), restsFor: () => everyMs, isHeld });
  useBell(news, reading, { isHeld, restMs: REST_MS });
  const under = useRef<string | null>(null);
  const [problem, setProblem] = useState<{ key: string; error: ApiError } | null>(null);
  const load = async (cursor: string) => {
    const asked = `${key} ${cursor}`;
    if (under.current === asked) return;
    under.current = asked;
    const page = await read(cursor).finally(() => {
      if (under.current === asked) under.current = null;
    });
    setProblem(null);
    setFurther((known) => (known.key === key ? { key, pages: [...known.pages, page] } : known));
  };
  const failed = (error: unknown) => {
    if (error instanceof ApiError && error.status === 401) session.ended();
    else if (error instanceof ApiError) setProblem({ key, error });
  };
  // All pages begin anew: behind a first page that has moved the others would leave rows out.
  const restart = () => {
    setFurther({ key, pages: [] });
    setProblem(null);
    news?.taken();
    reading.again();
  };
  const error = reading.error ?? (problem?.key === key ? problem.error : null);
  return {
    reading: { ...reading, error, again: restart },
    pages: reading.value === null ? [] : [reading.value, ...others],
    everyMs,
    load: (cursor) => void load(cursor).catch(failed),
    restart,
  };
}
