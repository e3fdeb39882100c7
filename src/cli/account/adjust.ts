/** `account adjust`: a correction or deposit by ops. */
import type { Command } from 'commander';
import { MAX_AMOUNT } from '../../domain/money.ts';
import { adjust } from '../../engine/ops/adjust.ts';
import { type ActingOptions, actingOf, addBy } from '../by.ts';
import { accountNotFound, Failure } from '../failure.ts';
import { Values } from '../options.ts';
import { reais } from '../output.ts';
import type { Shell, Work } from '../running/shell.ts';

interface AdjustOptions extends ActingOptions {
  reason: string;
  allowNegative?: boolean;
}

function adjustBalance(user: string, accountId: string, cents: string, options: AdjustOptions): Work {
  const values = new Values();
  const amount = values.whole('CENTS', cents, -MAX_AMOUNT, MAX_AMOUNT);
  if (/^-?0+$/.test(cents)) values.wrong('CENTS', 'must not be 0');
  const { reason } = options;
  const { id, by } = actingOf(options, user, values);
  values.check();
  const allowNegative = options.allowNegative === true;
  return async (core) => {
    if ((await core.store.accounts.get(accountId)) === null) throw accountNotFound(accountId);
    const answer = await adjust(core.engine, accountId, { id, amount, reason, allowNegative, by });
    if (answer.kind === 'notAdjusted') {
      throw new Failure('ADJUSTMENT_REFUSED', answer.reason, { accountId, balance: answer.balance });
    }
    if (answer.kind !== 'adjusted') throw new Error(`an adjustment was answered ${answer.kind}`);
    const { balance, applied } = answer;
    const text = applied ? `adjusted by ${reais(amount)}` : 'applied before: nothing changed';
    return {
      document: { accountId, balance, applied },
      text: `${text}; the balance of ${accountId} is ${reais(balance)}`,
    };
  };
}

/** Adds `adjust` to `account`. */
export function addAdjustCommand(account: Command, shell: Shell): void {
  const adjusting = account
    .command('adjust <id> <cents>')
    .description('a correction or deposit; CENTS may be negative')
    .requiredOption('--reason <text>', 'why')
    .option('--id <message id>', 'applied once for an id (default: a random one)')
    .option('--allow-negative', 'the balance may go below zero');
  addBy(adjusting).action(async (id: string, cents: string, options: AdjustOptions) =>
    shell.run('writes', adjustBalance(shell.user, id, cents, options)),
  );
}
