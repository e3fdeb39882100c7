/** Tests of `decide` as sentences: given these commands, when this batch comes, it gives that. */
import * as assert from 'uvu/assert';
import type { Command } from '../../src/engine/commands.ts';
import type { Decision } from '../../src/engine/decision.ts';
import type { Entry } from '../../src/engine/journal.ts';
import { Ledger, type Surroundings } from './support.ts';

/** What a batch gives; what isn't named isn't looked at. */
export interface Outcome {
  /** The kinds of the answers, in order. */
  answers?: string[];
  /** Statuses by transaction. */
  states?: Record<string, string>;
  /** Cents after the batch. */
  available?: number;
  /** Names of the events that the batch emits, in order. */
  events?: string[];
  /** How many entries the batch leaves. */
  entries?: number;
  /** Kinds of the orders to the bank. */
  orders?: string[];
  /** Kinds of what ops are told. */
  attention?: string[];
}

/** What happened, for what an outcome can't say. */
export interface Happened {
  ledger: Ledger;
  decisions: Decision[];
  entries: Entry[];
}

class When {
  readonly #happened: Happened;

  constructor(ledger: Ledger, commands: readonly Command[]) {
    const before = ledger.entries.length;
    const decisions = ledger.commit(...commands);
    this.#happened = { ledger, decisions, entries: ledger.entries.slice(before).map(({ entry }) => entry) };
  }

  /** Asserts the outcome, and that the whole journal replays to the same bytes. */
  gives(outcome: Outcome): Happened {
    const { ledger, decisions, entries } = this.#happened;
    const is: Required<Outcome> = {
      answers: decisions.map(({ answer }) => answer.kind),
      states: Object.fromEntries(Object.keys(outcome.states ?? {}).map((id) => [id, ledger.status(id)])),
      available: ledger.balances.available,
      events: entries.flatMap(({ events }) => events.map(({ name }) => name)),
      entries: entries.length,
      orders: entries.flatMap(({ orders }) => orders.map(({ kind }) => kind)),
      attention: entries.flatMap(({ attention }) => (attention === null ? [] : [attention.kind])),
    };
    for (const name of Object.keys(outcome) as (keyof Outcome)[]) assert.equal(is[name], outcome[name], name);
    ledger.assertReplays();
    return this.#happened;
  }
}

class Given {
  readonly #ledger = new Ledger();

  constructor(commands: readonly Command[]) {
    for (const command of commands) this.#ledger.commit(command);
  }

  /** With webhooks, or with the sandbox as the bank. */
  with(surroundings: Partial<Surroundings>): this {
    this.#ledger.surroundings = { ...this.#ledger.surroundings, ...surroundings };
    return this;
  }

  /** At another time (ms). */
  at(now: number): this {
    this.#ledger.now = now;
    return this;
  }

  /** And this happened too, as one batch. */
  and(...commands: Command[]): this {
    this.#ledger.commit(...commands);
    return this;
  }

  /** Does something to the account that no command can. */
  but(change: (ledger: Ledger) => void): this {
    change(this.#ledger);
    return this;
  }

  /** The commands come as one batch. */
  when(...commands: Command[]): When {
    return new When(this.#ledger, commands);
  }
}

/** Commands that were committed before, each as a batch of its own. */
export function given(...commands: Command[]): Given {
  return new Given(commands);
}
