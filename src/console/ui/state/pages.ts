/** A list that comes by pages: the first one is read again and again, until a reader has gone further. */
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { type Reading, useReading } from './reading.ts';
import { useSession } from './session.ts';

const EVERY_MS = 5_000;

export interface Pages<Page> {
  reading: Reading<Page>;
  /** Those that were read, in their order. */
  pages: readonly Page[];
  /** ms between two readings of the first one; null: it holds still. */
  everyMs: number | null;
  /** Reads the page behind the others. */
  load(cursor: string): void;
}

/** `key`: what is read; another one begins anew. `cursor`: null for the first page. */
export function usePages<Page>(
  key: string,
  read: (cursor: string | null, signal?: AbortSignal) => Promise<Page>,
): Pages<Page> {
  const session = useSession();
  const [further, setFurther] = useState<{ key: string; pages: Page[] }>({ key, pages: [] });
  useEffect(() => setFurther({ key, pages: [] }), [key]);
  const others = further.key === key ? further.pages : [];
  // Once a reader has gone further back, the first page holds still: rows would come twice, or none.
  const everyMs = others.length === 0 ? EVERY_MS : null;
  const reading = useReading({ key, read: (signal) => read(null, signal), restsFor: () => everyMs });
  const load = async (cursor: string) => {
    const page = await read(cursor);
    setFurther((known) => (known.key === key ? { key, pages: [...known.pages, page] } : known));
  };
  const failed = (error: unknown) => {
    if (error instanceof ApiError && error.status === 401) session.ended();
    else reading.again();
  };
  return {
    reading,
    pages: reading.value === null ? [] : [reading.value, ...others],
    everyMs,
    load: (cursor) => void load(cursor).catch(failed),
  };
}
