/** `inspect`, `send`: one transaction. */
import type { Command } from 'commander';
import { represent } from '../api/representation.ts';
import { now } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Core } from '../core.ts';
import { MESSAGE_TYPES } from '../domain/messages.ts';
import { type Language, refusalIn } from '../domain/sentences/refusals.ts';
import { deliveryList, historyOf, refusalOf } from '../engine/history.ts';
import type { Entry, TransactionRecord } from '../engine/journal.ts';
import type { MessageAnswer } from '../engine/payments.ts';
import type { NumberedEntry } from '../engine/store.ts';
import { addByAndReason, type ByOptions, byOf } from './by.ts';
import { Failure, invalidValues, transactionNotFound } from './failure.ts';
import { findById, findTransaction } from './find.ts';
import { LANGUAGE_OPTION, Values } from './options.ts';
import { inLine, labelled, type Outcome, reais } from './output.ts';
import type { Shell, Work } from './running/shell.ts';

const MAX_MESSAGE_ID = 255;
const ALL_TYPES: readonly string[] = [...new Set([...MESSAGE_TYPES['pix-in'], ...MESSAGE_TYPES.cashout])];

interface SendOptions extends ByOptions {
  id?: string;
  data?: string;
}

function shownEntry({ seq, entry }: NumberedEntry): object {
  const { at, from, to, postings, code } = entry;
  const { id, type, data, door } = entry.message;
  const refusal = entry.refusal === null ? null : { code, text: entry.refusal };
  const events = entry.events.map((event) => ({ id: event.id, name: event.name }));
  const by = entry.message.by ?? null;
  return { seq, at, door, by, message: { id, type, data }, from, to, refusal, postings, events };
}

function changeText(entry: Entry, language: Language): string {
  const { from, to } = entry;
  const refusal = refusalOf(entry);
  if (refusal === null) return `${from === null || from === to ? '' : `${from} -> `}${to}`;
  return `${language === 'pt' ? 'recusada' : 'refused'}: ${refusalIn(language, refusal)}`;
}

function entryLines({ seq, entry }: NumberedEntry, language: Language): string[] {
  const { message } = entry;
  const change = changeText(entry, language);
  const lines = [`  ${entry.at}  #${seq}  ${message.type.padEnd(10)}  ${change}`];
  const indent = ' '.repeat(28);
  if (message.id !== '') lines.push(`${indent}message ${message.id}, through ${message.door}`);
  const { by } = message;
  if (by !== undefined)
    lines.push(`${indent}by ${by.name} (${by.role})${by.reason === null ? '' : `: ${by.reason}`}`);
  for (const { leg, amount } of entry.postings) lines.push(`${indent}${leg.padEnd(10)} ${reais(amount)}`);
  for (const { name, id } of entry.events) lines.push(`${indent}event ${name}  ${id}`);
  return lines.map(inLine);
}

/** A delivery as `deliveryList` gives it, as far as it is printed. */
interface ListedDelivery {
  id: string;
  event: string;
  url: string;
  status: string;
  attempts: unknown[];
}

function timeline(
  record: TransactionRecord,
  history: readonly NumberedEntry[],
  deliveries: readonly ListedDelivery[],
  language: Language,
): string {
  const { machine, version, value, context } = record.snapshot;
  const head = labelled([
    [record.type, record.id],
    ['account', record.account],
    ['status', `${value} (${machine} ${version})`],
    ['amount', reais(context.amount)],
    ['updated', record.updatedAt],
  ]);
  const timers = record.timers.map(({ name, at }) => `  ${at}  ${name}`);
  const sent = deliveries.map(
    ({ id, event, url, status, attempts }) =>
      `  ${id}  ${event} to ${url}: ${status} after ${attempts.length} attempts`,
  );
  const lines = history.flatMap((each) => entryLines(each, language));
  const parts = [head, ['entries', ...lines].join('\n')];
  if (timers.length > 0) parts.push(['timers', ...timers].join('\n'));
  if (sent.length > 0) parts.push(['deliveries, newest first', ...sent].join('\n'));
  return parts.join('\n\n');
}

interface InspectOptions {
  account?: string;
  lang?: string;
}

function inspect(config: Config, given: string, { account, lang }: InspectOptions): Work {
  const values = new Values();
  const language = values.language(lang, config);
  values.check();
  return ({ store }) => inspected(store, given, account, language);
}

async function inspected(
  store: Core['store'],
  given: string,
  account: string | undefined,
  language: Language,
): Promise<Outcome> {
  const { journal } = store;
  const record = await findTransaction(store, given, account);
  const [history, deliveries] = await Promise.all([
    historyOf(journal, record),
    deliveryList(journal, record),
  ]);
  const { snapshot, timers } = record;
  const entries = history.map(shownEntry);
  return {
    document: { transaction: represent(record, now()), snapshot, entries, timers, deliveries },
    text: timeline(record, history, deliveries as ListedDelivery[], language),
  };
}

function sentOutcome(record: TransactionRecord, answer: MessageAnswer): Outcome {
  switch (answer.kind) {
    case 'applied':
    case 'repeated': {
      const applied = answer.kind === 'applied';
      const { value } = answer.record.snapshot;
      return {
        document: { ...represent(answer.record, now()), applied },
        text: applied
          ? `applied: ${record.id} is ${value}`
          : `applied before: ${record.id} is ${value}, nothing changed`,
      };
    }
    case 'refused': {
      const status = answer.record.snapshot.value;
      throw new Failure('MESSAGE_NOT_ACCEPTED', answer.reason, { status, allowed: answer.allowed });
    }
    case 'malformed':
      throw invalidValues(answer.details);
    case 'quarantined':
      throw new Failure('SERVICE_UNAVAILABLE', `the snapshot can't be read: ${answer.reason}`);
    case 'unknown':
      throw transactionNotFound(record.id);
    default:
      throw new Error(`a message was answered ${answer.kind}`);
  }
}

function send(user: string, given: string, type: string, options: SendOptions): Work {
  const values = new Values();
  if (!ALL_TYPES.includes(type)) values.wrong('type', `must be one of ${ALL_TYPES.join(', ')}`);
  const id = options.id === undefined ? null : values.text('--id', options.id, MAX_MESSAGE_ID);
  const data = options.data === undefined ? null : values.object('--data', options.data);
  const by = byOf(options, user, values);
  values.check();
  return async ({ store, payments }) => {
    const record = await findById(store.journal, given);
    return sentOutcome(record, await payments.tell(record, { id, type, data }, 'ops', { by }));
  };
}

/** Adds `inspect` and `send`. */
export function addTransactionCommands(program: Command, shell: Shell): void {
  program
    .command('inspect <id>')
    .description(
      'a transaction with its snapshot, its history, its timers and its deliveries: by its id, that of an event, a delivery or a refund, an end-to-end id, the externalRef of a charge (of several the newest) or an idempotency key',
    )
    .option('--account <id>', 'only of this account')
    .option(...LANGUAGE_OPTION)
    .action(async (id: string, options: InspectOptions) =>
      shell.run('reads', inspect(shell.config(), id, options)),
    );
  const sending = program
    .command('send <id> <type>')
    .description("a message to a transaction, through the same door as the bank's")
    .option('--id <message id>', 'a message is applied once for an id (default: a random one)')
    .option('--data <json>', "the message's data, a JSON object");
  addByAndReason(sending).action(async (id: string, type: string, options: SendOptions) =>
    shell.run('writes', send(shell.user, id, type, options)),
  );
}
