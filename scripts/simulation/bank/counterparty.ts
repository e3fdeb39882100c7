/**
 * The bank that the processes of a simulation are customers of: the logic of the bank for tests, by the world's time,
 * and behind a wire that fails as wires do.
 *
 * 1. A request that has left arrives, whoever asked for it has died meanwhile or not.
 * 2. One id has one content for ever: an order that comes again in other words fails the run.
 */
import type { OpenWire } from '../../../src/bank/api-pix/connection.ts';
import { type Arrived, Front } from '../../../test/support/bank/front.ts';
import type { BankState } from '../../../test/support/bank/state.ts';
import type { World } from '../world.ts';
import { KEY, OTHER_KEY } from './keys.ts';
import { BankWeather } from './weather.ts';
import { SimulatedWire } from './wire.ts';

export const BANK_URL = 'https://bank.example';
/** Short enough that a run sees tokens end. */
const TOKEN_LIFE_S = 600;
/** What has an id of ours for ever. */
const ORDERS = ['PUT cob', 'PUT envio', 'PUT devolucao'];

export class Counterparty {
  readonly front: Front;
  readonly weather: BankWeather;
  /** Ids of orders for which the bank was told two things. */
  readonly contradictions: string[] = [];
  readonly #world: World;
  readonly #told = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
    this.weather = new BankWeather(world);
    const now = (): number => world.now;
    this.front = new Front({
      profile: 'efi',
      keys: new Set([KEY, OTHER_KEY]),
      tokenLifeS: TOKEN_LIFE_S,
      now,
    });
  }

  get state(): BankState {
    return this.front.state;
  }

  /** The way of a process to the bank. */
  wireOf(owner: string, isAlive: () => boolean): OpenWire {
    return () => new SimulatedWire({ world: this.#world, bank: this, owner, isAlive });
  }

  /** A request has arrived, and is done; what it has done stays hidden from questions for `hideMs`. */
  take(arrived: Arrived, hideMs: number): ReturnType<Front['reply']> {
    this.#compare(arrived);
    const reply = this.front.reply(arrived, hideMs);
    if (!this.#hasReturn(arrived)) this.#told.delete(arrived.target);
    return reply;
  }

  /** Whether the bank has a return by its id: what it hasn't taken is none, and may be ordered anew, of what is left. */
  #hasReturn(arrived: Arrived): boolean {
    if (this.front.callOf(arrived) !== 'PUT devolucao') return true;
    const [, endToEndId = '', id = ''] = /\/pix\/([^/]+)\/devolucao\/([^/]+)$/.exec(arrived.target) ?? [];
    return this.state.payments.get(endToEndId)?.returns.some((each) => each.id === id) === true;
  }

  /** How much lies at the bank, by kind and state. */
  get tally(): Record<string, number> {
    const { charges, payments, sendings } = this.state;
    const states = [
      ...[...charges.values()].map(({ status }) => `charge ${status}`),
      ...[...payments.values()].map(({ txid }) => `payment ${txid === null ? 'without' : 'with'} a txid`),
      ...[...sendings.values()].map(({ status }) => `transfer ${status}`),
      ...[...payments.values(), ...sendings.values()].flatMap(({ returns }) =>
        returns.map(({ natureza, status }) => `return ${natureza} ${status}`),
      ),
    ];
    const counts = new Map<string, number>();
    for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
    return Object.fromEntries([...counts].sort());
  }

  #compare(arrived: Arrived): void {
    if (!ORDERS.includes(this.front.callOf(arrived))) return;
    const { target, body } = arrived;
    const told = this.#told.get(target) ?? body;
    this.#told.set(target, told);
    if (told !== body) this.contradictions.push(`${target}: ${told}, then ${body}`);
  }
}
