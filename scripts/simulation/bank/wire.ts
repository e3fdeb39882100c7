/** A process's wire to the bank: requests travel, and answers come back, in the world's time. */
import type { Request, Wire } from '../../../src/bank/api-pix/wire/exchange.ts';
import { CallFailed, type RawAnswer } from '../../../src/bank/api-pix/wire/outcome.ts';
import type { Arrived } from '../../../test/support/bank/front.ts';
import type { World } from '../world.ts';
import type { Counterparty } from './counterparty.ts';
import type { Fate } from './weather.ts';

export interface SimulatedWireOptions {
  world: World;
  bank: Counterparty;
  /** Whose exchanges they are: nobody hears their answers once it is dead. */
  owner: string;
  isAlive(): boolean;
}

export class SimulatedWire implements Wire {
  readonly #options: SimulatedWireOptions;

  constructor(options: SimulatedWireOptions) {
    this.#options = options;
  }

  exchange({ method, path, headers = {}, body = '' }: Request, deadlineMs: number): Promise<RawAnswer> {
    const { world, bank, owner, isAlive } = this.#options;
    return new Promise((resolve, reject) => {
      if (!isAlive()) return;
      const arrived = { method, target: path, headers, body };
      const fate = bank.weather.fate(bank.front.callOf(arrived));
      const fail = (kind: 'not-done' | 'unknown', what: string): void =>
        reject(new CallFailed(kind, what, { isBanks: true }));
      if (fate.isRefused) {
        world.after(fate.backMs, () => fail('not-done', 'the connection failed (ECONNREFUSED)'), owner);
        return;
      }
      const late = (): void => fail('unknown', `the bank has not answered within ${deadlineMs} ms`);
      const deadline = world.after(deadlineMs, late, owner);
      const hear = (answer: RawAnswer | null): void => {
        world.cancel(deadline);
        if (answer === null) fail('unknown', 'the connection failed (ECONNRESET)');
        else resolve(answer);
      };
      world.after(fate.thereMs, () => {
        const answer = this.#arrive(arrived, fate);
        if (isAlive()) world.after(fate.backMs, () => hear(answer), owner);
      });
    });
  }

  /** Processes here die: none ever closes its wires. */
  async close(): Promise<void> {}

  #arrive(arrived: Arrived, { isDone, hideMs, heard }: Fate): RawAnswer | null {
    const { world, bank } = this.#options;
    const reply = isDone ? bank.take(arrived, hideMs) : null;
    if (heard === 'cut') return null;
    const date = new Date(world.now).toUTCString();
    if (heard !== 'answer') return { ...heard, date };
    if (reply === null) throw new Error('an answer to what was not done');
    const body = reply.body === undefined ? '' : JSON.stringify(reply.body);
    return { status: reply.status, body, retryAfter: reply.headers?.['retry-after'] ?? null, date };
  }
}
