/** Operators have deliveries tried again, and are done with items of what needs a person: by the doors of the command line. */
import { finish, whoText } from '../../ops/attention.ts';
import { type Retried, retry } from '../../ops/retry.ts';
import { ConsoleError, noTransaction } from '../server/errors.ts';
import type { Doing } from './parts.ts';
import type { DeedOf } from './wishes.ts';

const PER_SECOND = 10;

/** The deliveries that start anew, as ids have named them. @throws ConsoleError where an id is nothing; nothing is changed then */
function retriedOf(outcome: Retried): string[] {
  switch (outcome.kind) {
    case 'noTransaction':
      throw noTransaction();
    case 'noDelivery':
      throw new ConsoleError('DELIVERY_NOT_FOUND', `There is no delivery ${outcome.id}.`);
    case 'noEvent':
      throw new ConsoleError('EVENT_NOT_FOUND', `There is no event ${outcome.id}.`);
    case 'notDead': {
      const { id, status } = outcome;
      const message = `Delivery ${id} is ${status}: only a dead or rejected one is tried again.`;
      throw new ConsoleError('DELIVERY_NOT_DEAD', message, {}, { status });
    }
    case 'retried':
      return outcome.deliveries;
  }
}

export const retryIds: Doing<DeedOf<'retry'>> = async (parts, { ids }, acting) => {
  const deliveries = retriedOf(await retry(parts, ids, {}, acting));
  return { asked: ids.length, retried: deliveries.length, deliveries };
};

export const retryUrl: Doing<DeedOf<'retryUrl'>> = (parts, deed, acting) => {
  const { account, url, since, perSecond, first } = deed;
  const wish = { account, url, since, perSecond: perSecond ?? PER_SECOND, first: first === true };
  return parts.runs.begin(wish, acting);
};

export const finishItems: Doing<DeedOf<'done'>> = async (parts, { of: kind, ids }, acting) => {
  const named = ids.map((id) => ({ kind, id }));
  const finished = await finish(parts, parts.stuckRule(), named, { kind }, acting);
  if (finished.kind === 'done') return { done: finished.ids };
  const { id, by } = finished;
  throw new ConsoleError('ITEM_NOT_FOUND', `Nothing on the list has the id ${id}${whoText(by)}.`, {}, { by });
};
