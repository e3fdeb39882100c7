/** `deliveries list`, `deliveries retry`: dead and rejected deliveries. */
import type { Command } from 'commander';
import type { FailedFilter } from '../engine/store/deliveries.ts';
import { type Failed, failedPage } from '../ops/failed.ts';
import { MOST_ANSWERED, type Retried, retry } from '../ops/retry.ts';
import { type ActingOptions, actingOf, addActing } from './by.ts';
import { Failure, transactionNotFound, wrongUsage } from './failure.ts';
import { expectAccount } from './find.ts';
import { Values } from './options.ts';
import type { Shell, Work } from './running/shell.ts';

const MAX_TEXT = 2_048;
const MAX_PLACE = 400;
/** Whatever else a store says of a place, it names the delivery that is there. */
const PLACE = /(?:^| )dlv_[^ ]+(?: |$)/;
/** Ids that are told to a person; a program gets more. */
const MOST_TOLD = 100;
const DEFAULT_LIMIT = 50;
/** An answer has its bound, and an attempt may tell much. */
const MAX_LIMIT = 200;

interface FilterOptions {
  account?: string;
  url?: string;
  since?: string;
  status?: string;
}

type RetryOptions = FilterOptions & ActingOptions;

interface ListOptions extends FilterOptions {
  limit?: string;
  after?: string;
}

function filterOf({ account, url, since, status }: FilterOptions, values: Values): FailedFilter {
  const filter: FailedFilter = {};
  if (account !== undefined) filter.account = values.text('--account', account, MAX_TEXT);
  if (url !== undefined) filter.url = values.text('--url', url, MAX_TEXT);
  if (since !== undefined) filter.since = values.time('--since', since);
  if (status !== undefined)
    filter.status = values.choice<'dead' | 'rejected'>('--status', status, ['dead', 'rejected']);
  return filter;
}

function shown({ record, url }: Failed): object {
  const { id, account, transaction, status, attempts } = record;
  return { id, account, transaction, url, status, attempts };
}

function line({ record, url }: Failed): string {
  const { id, account, status, attempts } = record;
  const last = attempts.at(-1);
  const why = last === undefined ? 'no attempt' : (last.error ?? `status ${last.statusCode}`);
  return `${last?.at ?? ' '.repeat(24)}  ${status}  ${id}\n  account ${account}, to ${url}: ${why}, after ${attempts.length} attempts`;
}

function list(options: ListOptions): Work {
  const values = new Values();
  const filter = filterOf(options, values);
  const limit =
    options.limit === undefined ? DEFAULT_LIMIT : values.whole('--limit', options.limit, 1, MAX_LIMIT);
  const given = options.after === undefined ? null : values.text('--after', options.after, MAX_PLACE);
  if (given !== null && !PLACE.test(given)) values.wrong('--after', 'must be what the page before gave');
  values.check();
  return async ({ store }) => {
    await expectAccount(store, filter.account);
    const { failed, next: after } = await failedPage(store, filter, given, limit);
    const more = after === null ? [] : [`there are more: --after '${after}' shows them`];
    const lines = failed.length === 0 ? ['Nothing that fits is dead or rejected.'] : failed.map(line);
    return {
      document: { deliveries: failed.map(shown), after },
      text: [...lines, ...more].join('\n'),
    };
  };
}

/** @throws Failure where an id is nothing; nothing is changed then */
function retriedOf(outcome: Retried): Retried & { kind: 'retried' } {
  switch (outcome.kind) {
    case 'noTransaction':
      throw transactionNotFound(outcome.id);
    case 'noDelivery':
      throw new Failure('DELIVERY_NOT_FOUND', `no delivery ${outcome.id}`);
    case 'noEvent':
      throw new Failure('EVENT_NOT_FOUND', `no event ${outcome.id}`);
    case 'notDead': {
      const { id, status } = outcome;
      const message = `delivery ${id} is ${status}: only a dead or rejected one is tried again`;
      throw new Failure('DELIVERY_NOT_DEAD', message, { status });
    }
    case 'retried':
      return outcome;
  }
}

function tryAgain(user: string, ids: readonly string[], options: RetryOptions): Work {
  const values = new Values();
  const filter = filterOf(options, values);
  const acting = actingOf(options, user, values);
  values.check();
  if (ids.length === 0 && Object.keys(filter).length === 0)
    throw wrongUsage('name deliveries by ids, or by --account, --url, --since or --status');
  return async (core) => {
    await expectAccount(core.store, filter.account);
    const { count, deliveries } = retriedOf(await retry(core, ids, filter, acting));
    const what = ids.length === 0 ? 'that fits' : `of ${ids.join(', ')}`;
    const others = count <= MOST_TOLD ? '' : `, and ${count - MOST_TOLD} more`;
    const text =
      count === 0
        ? `nothing ${what} is dead or rejected`
        : `tried again: ${deliveries.slice(0, MOST_TOLD).join(', ')}${others}`;
    const more = count === deliveries.length ? {} : { count };
    return { document: { retried: deliveries, ...more }, text };
  };
}

/** Adds the options by which deliveries are chosen. */
function addFilter(command: Command): Command {
  return command
    .option('--account <id>', 'only those of this account')
    .option('--url <url>', 'only those to this URL')
    .option('--since <time>', 'only those whose last attempt was at this time or later (RFC 3339)')
    .option('--status <status>', 'only those that are dead, or rejected');
}

/** Adds `deliveries`. */
export function addDeliveryCommands(program: Command, shell: Shell): void {
  const deliveries = program
    .command('deliveries')
    .description('webhook deliveries that are dead or rejected');
  addFilter(deliveries.command('list').description('dead and rejected deliveries, a page of them'))
    .option('--limit <number>', `how many, at most ${MAX_LIMIT} (default: ${DEFAULT_LIMIT})`)
    .option('--after <place>', 'what the page before gave as `after`')
    .action(async (options: ListOptions) => shell.run('reads', list(options)));
  const retrying = deliveries
    .command('retry [ids...]')
    .description(
      `dead or rejected deliveries again: a delivery (dlv_...), or all such of an event (evt_...), a transaction (UUID); without ids, all that fit, of which the first ${MOST_ANSWERED} are named`,
    );
  addActing(addFilter(retrying)).action(async (ids: string[], options: RetryOptions) =>
    shell.run('writes', tryAgain(shell.user, ids, options)),
  );
}
