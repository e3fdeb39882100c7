/** Deliveries are tried again, items are done with: by their ids. */
import { itemIn } from '../../../../domain/sentences/items.ts';
import { fill } from '../../state/preferences.ts';
import type { Plan } from '../shape.ts';
import { type Form, opsEntry } from './parts.tsx';
import { wordsOf } from './words.ts';

function counted({ one, many }: { one: string; many: string }, n: number): string {
  return n === 1 ? one : fill(many, { n });
}

export const retryForm: Form<'retry'> = {
  plan(situation, { deliveries }): Plan {
    const { retry } = wordsOf(situation.language);
    const { id, reason } = situation;
    const ids = deliveries.map((delivery) => delivery.id);
    return {
      ...{ title: retry.title, verb: retry.verb },
      says: [fill(retry.says, { count: counted(retry, ids.length) }), retry.final],
      request: { method: 'POST', path: '/deliveries/retry', body: { id, ids, reason } },
      entry: opsEntry(situation, 'retry', { ids, count: ids.length }),
    };
  },
  Fields({ act: { deliveries } }) {
    return (
      <ul>
        {deliveries.slice(0, 5).map(({ id, event, url }) => (
          <li key={id}>
            <code>{event}</code> {url}
          </li>
        ))}
      </ul>
    );
  },
};

/** The value that says that an item stays on the list. */
function stays(id: string): string {
  return `stays ${id}`;
}

export const doneForm: Form<'done'> = {
  plan(situation, { items, of }): Plan {
    const { done } = wordsOf(situation.language);
    const { id, reason, values } = situation;
    const leaving = items.filter((item) => values[stays(item.id)] !== true);
    const ids = leaving.map((item) => item.id);
    // All are of one kind: items of another may have the same ids, and stay.
    const kind = leaving[0]?.kind;
    const says = [fill(done.says, { count: counted(done, ids.length) }), done.final];
    const left = of - ids.length;
    return {
      ...{ title: done.title, verb: done.verb },
      says: left > 0 ? [...says, counted(done.left, left)] : says,
      request:
        kind === undefined
          ? null
          : { method: 'POST', path: '/attention/done', body: { id, kind, ids, reason } },
      entry: opsEntry(situation, 'done', { kind, ids, count: ids.length }),
    };
  },
  /** Of several, each may stay. */
  Fields({ situation: { values, set, language }, act: { items } }) {
    if (items.length === 1) return null;
    return (
      <fieldset class="items">
        <legend>{wordsOf(language).done.which}</legend>
        {items.map((item) => (
          <label key={item.id}>
            <input
              type="checkbox"
              checked={values[stays(item.id)] !== true}
              onChange={(event) => set({ [stays(item.id)]: !event.currentTarget.checked })}
            />
            {itemIn(language, item).what}
          </label>
        ))}
      </fieldset>
    );
  },
};
