/** Items for a person to look at, in the embedded store: an item stays, marked, once somebody is done with it. */
import type { AttentionNote } from '../../engine/journal.ts';
import { type Attention, type AttentionItem, itemOf } from '../../engine/store.ts';
import type { Environment } from './environment.ts';
import { type AttentionKey, fitsKey } from './tables.ts';

/** Items of former builds have neither amount nor what they are about. */
interface Noted {
  item: AttentionNote & { since: string } & Partial<AttentionItem>;
  done: boolean;
}

export function attentionKey({ id, kind }: AttentionItem): AttentionKey {
  return [id, kind];
}

function whole({ kind, id, what, next, since, about, amount }: Noted['item']): AttentionItem {
  return itemOf({ kind, id, what, next }, since, about, amount);
}

/** An item as it is stored. */
export function attentionValue(item: AttentionItem, done = false): string {
  return JSON.stringify({ item, done } satisfies Noted);
}

export class LmdbAttention implements Attention {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  async list(): Promise<AttentionItem[]> {
    const items: AttentionItem[] = [];
    for (const { value } of this.#environment.fresh().attention.getRange()) {
      const { item, done }: Noted = JSON.parse(value);
      if (!done) items.push(whole(item));
    }
    return items.sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
  }

  note(items: AttentionItem[]): Promise<void> {
    const { queue, watch } = this.#environment;
    const noted = new Promise<void>((resolve, reject) => {
      queue.add({
        issue: (group) => {
          for (const item of items) group.promises.push(this.#insert(item));
        },
        done: resolve,
        reject,
      });
    });
    return watch.bound(noted);
  }

  /** An item that is known stays as it is, done or not. */
  #insert(item: AttentionItem): Promise<boolean> {
    // The option is there; lmdb's types don't know it.
    const options = { noOverwrite: true } as unknown as number;
    return this.#environment.tables.attention.put(attentionKey(item), attentionValue(item), options);
  }

  async dismiss(id: string): Promise<boolean> {
    if (!fitsKey(id)) return false;
    return this.#environment.transaction(({ attention }) => {
      let found = false;
      for (const { key, value } of [...attention.getRange({ start: [id, ''] })]) {
        if (key[0] !== id) break;
        const { item, done }: Noted = JSON.parse(value);
        found ||= !done;
        void attention.put(key, attentionValue(whole(item), true));
      }
      return found;
    });
  }

  async dismissed(ids: readonly string[]): Promise<boolean[]> {
    const { attention } = this.#environment.fresh();
    return ids.map((id) => {
      let dismissed = false;
      for (const { key, value } of attention.getRange({ start: [id, ''] })) {
        if (key[0] !== id) break;
        const { done }: Noted = JSON.parse(value);
        if (!done) return false;
        dismissed = true;
      }
      return dismissed;
    });
  }
}
