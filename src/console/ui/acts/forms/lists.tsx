/** Deliveries are tried again, items are done with: by their ids. */
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

export const doneForm: Form<'done'> = {
  plan(situation, { items }): Plan {
    const { done } = wordsOf(situation.language);
    const { id, reason } = situation;
    const ids = items.map((item) => item.id);
    return {
      ...{ title: done.title, verb: done.verb },
      says: [fill(done.says, { count: counted(done, ids.length) }), done.final],
      request: { method: 'POST', path: '/attention/done', body: { id, ids, reason } },
      entry: opsEntry(situation, 'done', { ids, count: ids.length }),
    };
  },
  Fields: null,
};
