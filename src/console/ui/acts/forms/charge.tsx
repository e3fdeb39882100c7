/** A charge is refunded or canceled, as its merchant may do it. */
import { reais } from '../../parts/money.tsx';
import { fill } from '../../state/preferences.ts';
import type { ActOf, Plan, Situation } from '../shape.ts';
import { amountText, byOf, centsOf, Field, type Form, textOf } from './parts.tsx';
import { wordsOf } from './words.ts';

function amountOf({ values }: Situation, { document }: ActOf<'refund'>): number | null {
  const amount = values.amount === undefined ? document.refundable : centsOf(textOf(values, 'amount'));
  return amount !== null && amount >= 1 && amount <= document.refundable ? amount : null;
}

export const refundForm: Form<'refund'> = {
  plan(situation, act): Plan {
    const words = wordsOf(situation.language).refund;
    const { id, reason } = situation;
    const cents = amountOf(situation, act);
    const amount = cents === null ? '…' : reais(cents);
    const path = `/transactions/${encodeURIComponent(act.document.id)}/refunds`;
    return {
      title: words.title,
      verb: fill(words.verb, { amount }),
      says: [fill(words.says, { amount }), words.final],
      request: cents === null ? null : { method: 'POST', path, body: { id, amount: cents, reason } },
      entry: {
        ...{ transaction: act.document.id, from: act.document.machine.state },
        message: {
          ...{ type: 'REFUND_ORDER', id, door: 'ops' },
          data: { refundId: id, amount: cents },
          by: byOf(situation),
        },
      },
    };
  },
  Fields({ situation, act }) {
    const words = wordsOf(situation.language);
    const { refundable } = act.document;
    return (
      <>
        <p>{fill(words.refund.most, { amount: reais(refundable) })}</p>
        <Field
          situation={situation}
          name="amount"
          label={words.part.amount}
          required
          usual={amountText(refundable)}
        />
      </>
    );
  },
};

export const cancelForm: Form<'cancel'> = {
  plan(situation, { document }): Plan {
    const { cancel, message } = wordsOf(situation.language);
    const { id, reason } = situation;
    const path = `/transactions/${encodeURIComponent(document.id)}/cancel`;
    return {
      ...{ title: cancel.title, verb: cancel.verb, says: [cancel.says, message.final] },
      request: { method: 'POST', path, body: { id, reason } },
      entry: {
        ...{ transaction: document.id, from: document.machine.state },
        message: { type: 'CANCEL', id, door: 'ops', data: {}, by: byOf(situation) },
      },
    };
  },
  Fields: null,
};
