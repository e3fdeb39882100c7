/**
 * The console's stream as a page hears it: opened again whenever it is lost, after a pause that grows, and as soon as
 * the browser is back on a network. While nobody sees the page there is none.
 */
import type { LiveEvent } from '../shapes/live.ts';
import { ApiError, openStream, type Values } from './api.ts';

/** `lost`: it ended unasked, and is being opened again. */
export type LiveState = 'connecting' | 'open' | 'lost';

export interface Hearer {
  /** After each `hello` what was before it is to be read. */
  hear(event: LiveEvent): void;
  became(state: LiveState): void;
  /** The session is over. */
  ended(): void;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;
/** The server says something every 15 seconds. */
const SILENCE_MS = 40_000;

/** The events of one stream. @throws ApiError, and what a broken connection throws */
async function* events(query: Values, abort: AbortController): AsyncGenerator<LiveEvent> {
  const silent = () => abort.abort();
  let silence = setTimeout(silent, SILENCE_MS);
  try {
    const reader = (await openStream(query, abort.signal)).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(silent, SILENCE_MS);
      const lines = (text + value).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as LiveEvent;
    }
  } finally {
    clearTimeout(silence);
  }
}

/** Hears what the query asks for, until the function that it gives is called. */
export function listen(query: Values, { hear, became, ended }: Hearer): () => void {
  let present: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  async function begin(): Promise<void> {
    const own = new AbortController();
    present = own;
    let why = '';
    try {
      for await (const event of events(query, own)) {
        if (present !== own) return;
        if (event.event === 'hello') {
          failures = 0;
          became('open');
        }
        if (event.event === 'bye') why = event.why;
        hear(event);
      }
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) why = 'session';
    }
    if (present !== own) return;
    if (why === 'session') ended();
    else if (why === 'again') void begin();
    else {
      became('lost');
      timer = setTimeout(begin, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures));
      failures += 1;
    }
  }

  function cease(): void {
    const own = present;
    present = null;
    clearTimeout(timer);
    own?.abort();
  }

  function seen(): void {
    cease();
    if (document.hidden) became('connecting');
    else void begin();
  }

  document.addEventListener('visibilitychange', seen);
  // Back on a network, a connection of before may be dead without a word, and the next try be far off.
  addEventListener('online', seen);
  seen();
  return () => {
    document.removeEventListener('visibilitychange', seen);
    removeEventListener('online', seen);
    cease();
  };
}
