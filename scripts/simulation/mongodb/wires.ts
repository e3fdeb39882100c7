/**
 * Stands between the driver and the server, in the simulation's own process: each command of a simulated process waits
 * for its turn before it is sent and before its answer comes, and may fail at either moment, or in part.
 *
 * It takes over three methods of the driver's own classes, since no interface of the driver may hold a command up.
 */
import { createRequire } from 'node:module';
import type { MongoClient } from 'mongodb';
import { atMost } from '../../../src/waiting.ts';
import { sendPart, WRITES_OF } from './parted.ts';

const load = createRequire(import.meta.url);

export interface Command {
  name: string;
  collection: string;
}

/** What happens to the commands of a process. */
export interface Gates {
  /** @throws where a command never gets there */
  before(command: Command): Promise<void>;
  /** Whether each of a command's writes fails, asked in turn; null: none does. */
  parted(command: Command): (() => boolean) | null;
  /** @throws where its answer is lost */
  after(command: Command): Promise<void>;
}

/** What the driver sends. */
interface Operation {
  commandName: string;
  ns: { collection?: string };
  /** Of those that the store writes out itself. */
  command?: Record<string, unknown>;
}

interface Server {
  pool: { options: { socketTimeoutMS: number } };
}

type Method<Self> = (this: Self, ...args: unknown[]) => Promise<unknown>;

/** The connections of a process are told by this option, which gets from its connection string to its pools. */
const TOLD_BY = 'socketTimeoutMS';
const FIRST_MS = 600_000;
/** Sessions of processes that have died are waited for in vain. */
const CLOSE_MS = 2_000;

function commandOf({ commandName, ns, command }: Operation): Command {
  if (command === undefined) return { name: commandName, collection: String(ns.collection) };
  const [name = '', collection] = Object.entries(command)[0] ?? [];
  return { name, collection: String(collection) };
}

/** Puts a method in the place of a real one; the function that is returned puts that back. */
function replace<Self>(
  prototype: Record<string, Method<Self>>,
  name: string,
  by: (real: Method<Self>) => Method<Self>,
): () => void {
  const real = prototype[name];
  if (real === undefined) throw new Error(`the driver has no ${name} any more`);
  prototype[name] = by(real);
  return () => {
    prototype[name] = real;
  };
}

export class Wires {
  readonly #gates = new Map<number, Gates>();
  readonly #clients = new Set<MongoClient>();
  readonly #onWrite: (collection: string) => Promise<void>;
  readonly #giveBack: readonly (() => void)[];
  #processes = 0;
  #underWay = 0;

  /** `onWrite`: a process's write took effect; its answer comes later. */
  constructor(onWrite: (collection: string) => Promise<void>) {
    this.#onWrite = onWrite;
    const wires = this;
    this.#giveBack = [
      replace<Server>(load('mongodb/lib/sdam/server.js').Server.prototype, 'command', (real) => {
        return function (...args) {
          const gates = wires.#gates.get(this.pool.options[TOLD_BY]);
          const send = (): Promise<unknown> => real.apply(this, args);
          return gates === undefined ? wires.#counted(send) : wires.#gated(gates, args[0] as Operation, send);
        };
      }),
      replace(load('mongodb/lib/sdam/topology.js').Topology.prototype, 'selectServer', (real) => {
        return function (...args) {
          return wires.#counted(() => real.apply(this, args));
        };
      }),
      replace<MongoClient>(load('mongodb').MongoClient.prototype, 'connect', (real) => {
        return function (...args) {
          wires.#clients.add(this);
          return real.apply(this, args);
        };
      }),
    ];
  }

  /** Whether the driver or the server has something in hand. */
  get isBusy(): boolean {
    return this.#underWay > 0;
  }

  /** The connection string for a process; from `begin` on its commands go through the gates. */
  of(uri: string, gates: Gates): { uri: string; begin(): void } {
    this.#processes += 1;
    const id = FIRST_MS + this.#processes;
    const own = `${uri}${uri.includes('?') ? '&' : '?'}${TOLD_BY}=${id}`;
    return { uri: own, begin: () => void this.#gates.set(id, gates) };
  }

  async #gated(gates: Gates, operation: Operation, send: () => Promise<unknown>): Promise<unknown> {
    const command = commandOf(operation);
    await gates.before(command);
    const writes = Object.hasOwn(WRITES_OF, command.name);
    const fails = writes ? gates.parted(command) : null;
    const answer = await this.#counted(async () => {
      const took = fails === null ? await send() : await sendPart(operation, fails, send);
      if (writes) await this.#onWrite(command.collection);
      return took;
    });
    await gates.after(command);
    return answer;
  }

  async #counted<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Gives the driver its ways back, and ends all connections. */
  async close(): Promise<void> {
    for (const each of this.#giveBack) each();
    await atMost(CLOSE_MS, Promise.all([...this.#clients].map((client) => client.close(true))));
  }
}
