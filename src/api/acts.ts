/** The acts of merchants and the bank, as the API has them done. */
import type { Answer } from '../engine/commands.ts';
import type { Payments } from '../engine/payments.ts';
import type { Acts } from './context.ts';
import { represent } from './representation.ts';
import type { NotCreated, Shown } from './showing.ts';

function created(answer: Answer, now: number): Shown | NotCreated {
  switch (answer.kind) {
    case 'applied':
      return JSON.stringify(represent(answer.record, now));
    case 'duplicateKey':
    case 'insufficientBalance':
      return answer;
    default:
      throw new Error(`a creation was answered ${answer.kind}`);
  }
}

/** What is created is shown; `now`: ms since 1970. */
export function actsOf(payments: Payments, now: () => number): Acts {
  return {
    createCharge: async (account, request, options) =>
      created(await payments.createCharge(account, request, options), now()),
    createTransfer: async (account, request, options) =>
      created(await payments.createTransfer(account, request, options), now()),
    refund: (account, request, options) => payments.refund(account, request, options),
    cancel: (account, request, options) => payments.cancel(account, request, options),
    tell: (record, incoming, door, options) => payments.tell(record, incoming, door, options),
    recordInvalid: (record, incoming, problem, options) =>
      payments.recordInvalid(record, incoming, problem, options),
    noteUnknown: (message) => payments.noteUnknown(message),
    noteUndecided: (message, reason) => payments.noteUndecided(message, reason),
  };
}
