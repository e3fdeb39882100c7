/** A message to a transaction: one of those that its state takes, with the data that it needs. */
import charts from 'pixstate:charts';
import { useEffect } from 'preact/hooks';
import type { TransactionDocument } from '../../../shapes.ts';
import { transaction } from '../../api.ts';
import type { Edge } from '../../chart/geometry.ts';
import { fill } from '../../state/preferences.ts';
import type { ActOf, Plan, Situation } from '../shape.ts';
import { byOf, Choice, centsOf, Field, type Form, textOf } from './parts.tsx';
import type { ActWords } from './words.pt.ts';
import { wordsOf } from './words.ts';

/** What takes a message back, as far as another message does. */
const REVERSES: Readonly<Record<string, string>> = {
  PAY: 'REFUND',
  APPROVE: 'REFUND',
  HOLD: 'REFUSE',
  PROTEST: 'DISMISS',
  DISMISS: 'PROTEST',
  SETTLE: 'RETURN',
};

type MessageAct = ActOf<'message'>;

function documentOf({ values }: Situation, { document }: MessageAct): TransactionDocument | null {
  return (values.document as TransactionDocument | undefined) ?? document;
}

/** Messages that this form sends: a refund has its own, and so has cancelling at a real bank. */
function sendable({ allowed, type }: TransactionDocument, isSandbox: boolean): string[] {
  return allowed.filter(
    (message) => message !== 'REFUND_ORDER' && (isSandbox || type === 'cashout' || message !== 'CANCEL'),
  );
}

/** The one that was chosen or clicked; where there is a choice, none is taken for granted. */
function chosenOf(situation: Situation, act: MessageAct, document: TransactionDocument): string | null {
  const messages = sendable(document, situation.me.sandbox);
  const wanted = textOf(situation.values, 'message') || act.message;
  const only = messages.length === 1 ? (messages[0] ?? null) : null;
  return wanted === null ? only : (messages.find((message) => message === wanted) ?? null);
}

function effectOf(words: ActWords, { type }: TransactionDocument, message: string): string {
  const effects: Readonly<Record<string, string>> = words.effect[type];
  return effects[message] ?? '';
}

/** The states that the chart says the message leads through: a result implies the start that it hasn't seen. */
function statesOf({ machine: { id, state } }: TransactionDocument, message: string): string[] {
  const edges: readonly Edge[] = charts[id]?.wide.edges ?? [];
  const states = [state];
  for (;;) {
    const last = states.at(-1);
    const next = edges.find(
      ({ from, labels }) => from === last && labels.some((label) => label.message === message),
    )?.to;
    if (next === undefined || states.includes(next)) return states;
    states.push(next);
  }
}

/** Where the message leads. */
function wayOf(words: ActWords, document: TransactionDocument, message: string): string {
  const [state = '', ...others] = statesOf(document, message);
  return others.length === 0
    ? fill(words.message.stays, { message, state })
    : fill(words.message.moves, { message, from: state, to: others.join('” → “') });
}

/** The parts of the data, but for the bank's own reason: why an operator sends it stands beside them. */
function partsOf({ needs }: TransactionDocument, message: string): { name: string; required: boolean }[] {
  const { required = [], optional = [] } = needs[message] ?? {};
  return [
    ...required.map((name) => ({ name, required: true })),
    ...optional.filter((name) => name !== 'reason').map((name) => ({ name, required: false })),
  ];
}

function partOf(name: string, text: string): unknown {
  if (name === 'amount') return centsOf(text);
  if (name !== 'paidAt' && name !== 'completedAt') return text.trim();
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** The data as it is sent; null where something that is needed is missing, or is none. */
function dataOf(
  { values, me }: Situation,
  document: TransactionDocument,
  message: string,
): Record<string, unknown> | null {
  const data: Record<string, unknown> = {};
  for (const { name, required } of partsOf(document, message)) {
    const text = textOf(values, name);
    if (text === '') {
      if (required && (!me.sandbox || name === 'refundId')) return null;
      continue;
    }
    const value = partOf(name, text);
    if (value === null) return null;
    data[name] = value;
  }
  return data;
}

function plan(situation: Situation, act: MessageAct): Plan {
  const words = wordsOf(situation.language);
  const { title } = words.message;
  const document = documentOf(situation, act);
  const message = document === null ? null : chosenOf(situation, act, document);
  if (document === null || message === null)
    return { title, verb: title, says: [], request: null, entry: {} };
  const { id, reason } = situation;
  const data = dataOf(situation, document, message);
  const reverse = REVERSES[message];
  const path = `/transactions/${encodeURIComponent(act.transaction)}/messages`;
  return {
    title,
    verb: fill(words.message.verb, { message }),
    says: [
      `${wayOf(words, document, message)} ${effectOf(words, document, message)}`,
      reverse === undefined ? words.message.final : fill(words.message.reverse, { message: reverse }),
    ],
    request: data === null ? null : { method: 'POST', path, body: { id, type: message, data, reason } },
    entry: {
      ...{ transaction: act.transaction, from: document.machine.state },
      message: { type: message, id, door: 'ops', data, by: byOf(situation) },
    },
  };
}

/** Refunds that wait for their outcome. */
function pendingOf({ snapshot }: TransactionDocument): { id: string; amount: number }[] {
  const { context = {} } = snapshot as { context?: Record<string, unknown> };
  return Object.entries(context).flatMap(([name, value]) => {
    const { status, amount } = value as { status?: string; amount?: number };
    return name.startsWith('refund:') && status === 'pending'
      ? [{ id: name.slice(7), amount: amount ?? 0 }]
      : [];
  });
}

function Parts({
  situation,
  document,
  message,
}: {
  situation: Situation;
  document: TransactionDocument;
  message: string;
}) {
  const { part } = wordsOf(situation.language);
  const { values, me } = situation;
  return (
    <>
      {partsOf(document, message).map(({ name, required }) =>
        name === 'refundId' ? (
          <Choice
            key={name}
            situation={situation}
            name={name}
            legend={part.refundId}
            chosen={textOf(values, name)}
            options={pendingOf(document).map(({ id, amount }) => ({
              value: id,
              label: `${id.slice(0, 8)}… ${(amount / 100).toFixed(2).replace('.', ',')}`,
            }))}
          />
        ) : (
          <Field
            key={name}
            situation={situation}
            name={name}
            label={part[name as keyof typeof part] ?? name}
            required={required && !me.sandbox}
            isTime={name === 'paidAt' || name === 'completedAt'}
          />
        ),
      )}
    </>
  );
}

/** The transaction is read as the dialog opens, and again after a refusal: its state may be another by then. */
function Fields({ situation, act }: { situation: Situation; act: MessageAct }) {
  const words = wordsOf(situation.language);
  const { set } = situation;
  useEffect(() => {
    const abort = new AbortController();
    transaction(act.transaction, { reveal: false }, abort.signal).then(
      (document) => set({ document }),
      () => {},
    );
    return () => abort.abort();
  }, []);
  const document = documentOf(situation, act);
  if (document === null) return null;
  const messages = sendable(document, situation.me.sandbox);
  if (messages.length === 0) return <p>{fill(words.message.none, { state: document.machine.state })}</p>;
  const chosen = chosenOf(situation, act, document);
  return (
    <>
      <Choice
        situation={situation}
        name="message"
        legend={words.message.choose}
        chosen={chosen ?? ''}
        options={messages.map((message) => ({ value: message, label: <code>{message}</code> }))}
      />
      {chosen === null ? null : <Parts situation={situation} document={document} message={chosen} />}
      {situation.me.sandbox && chosen !== null && partsOf(document, chosen).length > 0 ? (
        <p class="weak">{words.message.filledIn}</p>
      ) : null}
    </>
  );
}

export const messageForm: Form<'message'> = { plan, Fields };
