/** Somebody who opens the console's stream and hears what comes by it. */

import type { LiveEvent, LiveRow } from '../../src/console/shapes/live.ts';
import type { Kind } from '../../src/console/shapes.ts';
import type { Headers } from '../support/client.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { origin } from './visitor.ts';

export type { Kind, LiveRow };

type Named<Name extends LiveEvent['event']> = LiveEvent & { event: Name };

export class Listener {
  readonly status: number;
  readonly headers: globalThis.Headers;
  /** All that came, but for beats. */
  readonly events: LiveEvent[] = [];
  isOver = false;
  readonly #abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.headers = response.headers;
    this.#abort = abort;
    void this.#read(response).catch(() => {
      this.isOver = true;
    });
  }

  /** `query`: such as `?transaction=…`. Resolves with the answer's head. */
  static async open(server: Server, headers: Headers, query = ''): Promise<Listener> {
    const abort = new AbortController();
    const address = `${origin(server)}/console/api/live${query}`;
    return new Listener(await fetch(address, { headers, signal: abort.signal }), abort);
  }

  /** The same, once it has been greeted. */
  static async greeted(server: Server, headers: Headers, query = ''): Promise<Listener> {
    const listener = await Listener.open(server, headers, query);
    await listener.heard('hello');
    return listener;
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes as Uint8Array, { stream: true });
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const event = JSON.parse(line) as LiveEvent;
        if (event.event !== 'beat') this.events.push(event);
      }
    }
    this.isOver = true;
  }

  of<Name extends LiveEvent['event']>(name: Name): Named<Name>[] {
    return this.events.filter((event): event is Named<Name> => event.event === name);
  }

  /** All rows, in the order in which they came. */
  get rows(): LiveRow[] {
    return this.of('entries').flatMap(({ rows }) => rows);
  }

  get missed(): number {
    return this.of('entries').reduce((sum, { missed }) => sum + missed, 0);
  }

  /** Waits for an event of a name. */
  heard<Name extends LiveEvent['event']>(name: Name, timeoutMs = 5_000): Promise<Named<Name>> {
    return until(async () => this.of(name)[0] ?? false, timeoutMs, `${name} is heard`);
  }

  /** Waits until a row fits. */
  row(fits: (row: LiveRow) => boolean, timeoutMs = 5_000): Promise<LiveRow> {
    return until(async () => this.rows.find(fits) ?? false, timeoutMs, 'the row comes');
  }

  /** Waits until the stream has ended. */
  over(timeoutMs = 5_000): Promise<true> {
    return until(async () => this.isOver, timeoutMs, 'the stream ends');
  }

  close(): void {
    this.#abort.abort();
  }
}
