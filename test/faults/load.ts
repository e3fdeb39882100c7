/**
 * A load on one server, with a model of what must have come of it. Everything that it asks for can be found
 * again by a reference of its own, so that what was asked but never answered is settled after a crash: it
 * happened once, or not at all.
 */
import * as assert from 'uvu/assert';
import { type Merchant, merchant, type Reply } from '../support/client.ts';
import { askTransfer, tell } from '../support/flows.ts';
import { at, type Json, type JsonObject, object, text } from '../support/json.ts';
import type { Received } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { eachOf, sleep, until } from '../support/wait.ts';

/** A transaction that was asked for. `id` is null while nobody knows whether it exists. */
interface Plan {
  kind: 'pix-in' | 'cashout';
  client: Merchant;
  amount: number;
  /** The charge's externalRef, the cashout's idempotency key. */
  reference: string;
  id: string | null;
  /** The body of the 201. */
  created: Json | null;
  /** The id of the message that pays it; null: nobody sent one. */
  paidBy: string | null;
  /** Whether that message was answered. */
  paidAnswered: boolean;
  expires: boolean;
}

const OPENING_BALANCE = 1_000_000_000;
const CASHOUT_FEE = 50;
const CASHOUT_EVENTS: Record<string, string[]> = {
  '01': ['pending', 'processing', 'completed'],
  '02': ['pending', 'rejected'],
  '03': ['pending', 'processing', 'failed'],
  '07': ['pending'],
};
/** What goes on changing after a creation. */
const CHANGING = [
  'status',
  'updatedAt',
  'paidAt',
  'reference',
  'customer',
  'refundedAmount',
  'chargedbackAmount',
  'refundableAmount',
  'returnedAmount',
];

function statusesOf(plan: Plan): string[] {
  const scenario = String(plan.amount).slice(-2);
  if (plan.kind === 'cashout') return CASHOUT_EVENTS[scenario] ?? [];
  if (plan.expires) return ['waiting_payment', 'expired'];
  return scenario === '01' || plan.paidBy !== null ? ['waiting_payment', 'paid'] : ['waiting_payment'];
}

function lastStatusOf(plan: Plan): string {
  return statusesOf(plan).at(-1) ?? '';
}

/** The parts that are as they were created, for ever. */
function lastingParts(shown: Json): JsonObject {
  const parts = structuredClone(object(shown));
  for (const name of CHANGING) delete parts[name];
  delete object(at(parts, 'pix')).endToEndId;
  return parts;
}

export class Load {
  readonly plans: Plan[] = [];
  /** Answers that nobody should get, whatever happens to the process. */
  readonly unexpected: string[] = [];
  readonly #main: Merchant;
  readonly #expiring: Merchant;
  readonly #random: () => number;
  #serial = 0;
  #payable: Plan[] = [];
  readonly #ended = new Set<Plan>();

  /** `expiring` is an account whose charges expire after a second. */
  constructor(main: Merchant, expiring: Merchant, random: () => number) {
    this.#main = main;
    this.#expiring = expiring;
    this.#random = random;
  }

  /** Runs so many clients; what it returns stops them. */
  start(width: number): () => Promise<void> {
    let running = true;
    const workers = Array.from({ length: width }, async () => {
      while (running) {
        const answered = await this.#step().catch(() => false);
        if (!answered) await sleep(5);
      }
    });
    return async () => {
      running = false;
      await Promise.all(workers);
    };
  }

  /** Transactions that exist, as far as anybody was told. */
  get known(): Plan[] {
    return this.plans.filter(({ id }) => id !== null);
  }

  /** What was asked for since there were so many, and older ones whose payment was never answered. */
  openSince(count: number): Plan[] {
    return this.plans.filter(
      ({ paidBy, paidAnswered }, index) => index >= count || (paidBy !== null && !paidAnswered),
    );
  }

  async #step(): Promise<boolean> {
    const dice = Math.floor(this.#random() * 12);
    if (dice < 2) await this.#charge(10_000, false);
    else if (dice < 3) await this.#charge(10_001, false);
    else if (dice < 5) await this.#charge(10_000, true);
    else if (dice < 9) await this.#transfer([1_001, 1_002, 1_003, 1_007][dice - 5] ?? 1_001);
    else if (dice < 10) await this.#repeat();
    else await this.#pay();
    return true;
  }

  #plan(kind: Plan['kind'], client: Merchant, amount: number, expires: boolean): Plan {
    this.#serial += 1;
    const nothing = { id: null, created: null, paidBy: null, paidAnswered: false };
    const plan = { kind, client, amount, expires, reference: `${kind} ${this.#serial}`, ...nothing };
    this.plans.push(plan);
    return plan;
  }

  #note(plan: Plan, reply: Reply): void {
    if (reply.status !== 201) {
      this.unexpected.push(`${plan.reference} got ${reply.status}: ${reply.text}`);
      return;
    }
    plan.created = reply.body;
    plan.id = text(reply.body, 'id');
  }

  async #charge(amount: number, expires: boolean): Promise<void> {
    const client = expires ? this.#expiring : this.#main;
    const plan = this.#plan('pix-in', client, amount, expires);
    this.#note(plan, await client.post('/pix-in', { amount, externalRef: plan.reference }));
    if (amount === 10_000 && !expires) this.#payable.push(plan);
  }

  #ask(plan: Plan): Promise<Reply> {
    return askTransfer(plan.client, plan.amount, { idempotencyKey: plan.reference });
  }

  async #transfer(amount: number): Promise<void> {
    const plan = this.#plan('cashout', this.#main, amount, false);
    this.#note(plan, await this.#ask(plan));
  }

  /** A client that is not sure asks again: the first answer counts for ever. */
  async #repeat(): Promise<void> {
    const answered = this.plans.filter(({ kind, id }) => kind === 'cashout' && id !== null);
    const plan = answered[Math.floor(this.#random() * answered.length)];
    if (plan !== undefined) this.#expectRepeated(plan, await this.#ask(plan));
  }

  #expectRepeated(plan: Plan, reply: Reply): void {
    const id = reply.status === 409 ? text(reply.body, 'transactionId') : null;
    if (id !== plan.id) this.unexpected.push(`${plan.reference} again got ${reply.status}: ${reply.text}`);
  }

  async #pay(): Promise<void> {
    const plan = this.#payable.shift();
    if (plan?.id == null) return;
    plan.paidBy = `pays ${plan.reference}`;
    const reply = await tell(plan.client, plan.id, 'PAY', undefined, plan.paidBy);
    if (reply.status === 200 && at(reply.body, 'applied') === true) plan.paidAnswered = true;
    else this.unexpected.push(`${plan.paidBy} got ${reply.status}: ${reply.text}`);
  }

  /** After a restart: what was answered is there, and what was not is settled now. */
  async settle(plans: readonly Plan[]): Promise<void> {
    await eachOf(plans, 32, async (plan) => {
      if (plan.created !== null) await this.#expectThere(plan);
      else await this.#find(plan);
      if (plan.paidBy !== null) await this.#payAgain(plan, plan.paidBy);
    });
    // What never happened is nothing to wait for.
    const gone = new Set(plans.filter(({ id }) => id === null));
    this.plans.splice(0, this.plans.length, ...this.plans.filter((plan) => !gone.has(plan)));
  }

  async #expectThere(plan: Plan): Promise<void> {
    const reply = await plan.client.get(`/${plan.kind}?id=${plan.id}`);
    assert.is(reply.status, 200, `${plan.reference} was answered and is gone: ${reply.text}`);
    assert.equal(lastingParts(reply.body), lastingParts(plan.created), `${plan.reference} has changed`);
    if (plan.kind === 'cashout' && this.#random() < 0.2) this.#expectRepeated(plan, await this.#ask(plan));
  }

  async #find(plan: Plan): Promise<void> {
    if (plan.kind === 'cashout') {
      const reply = await this.#ask(plan);
      assert.ok(reply.status === 201 || reply.status === 409, `${plan.reference} got ${reply.text}`);
      plan.id = text(reply.body, reply.status === 201 ? 'id' : 'transactionId');
      this.#expectRepeated(plan, await this.#ask(plan));
      return;
    }
    const query = new URLSearchParams({ externalRef: plan.reference });
    const reply = await plan.client.get(`/pix-in?${query}`);
    assert.ok(reply.status === 200 || reply.status === 404, `${plan.reference} got ${reply.text}`);
    if (reply.status === 200) plan.id = text(reply.body, 'id');
  }

  async #payAgain(plan: Plan, message: string): Promise<void> {
    const first = await tell(plan.client, plan.id ?? '', 'PAY', undefined, message);
    assert.is(first.status, 200, `${message} got ${first.text}`);
    if (plan.paidAnswered) assert.is(at(first.body, 'applied'), false, `${message} was applied twice`);
    plan.paidAnswered = true;
    const second = await tell(plan.client, plan.id ?? '', 'PAY', undefined, message);
    assert.is(at(second.body, 'applied'), false, `${message} was applied twice`);
  }

  /** Timers and bank orders go on: every transaction comes to its end, also those that were seen there before. */
  expectAllEnds(leftMs: () => number): Promise<void> {
    this.#ended.clear();
    return this.expectEnds(leftMs);
  }

  /** The same of those that weren't seen at their end yet. */
  async expectEnds(leftMs: () => number): Promise<void> {
    const open = this.known.filter((plan) => !this.#ended.has(plan));
    await eachOf(open, 32, async (plan) => {
      let status = '';
      const arrived = async (): Promise<boolean> => {
        status = text((await plan.client.get(`/${plan.kind}?id=${plan.id}`)).body, 'status');
        return status === lastStatusOf(plan);
      };
      await until(
        arrived,
        leftMs(),
        `${plan.kind} of ${plan.amount} (${plan.id}) ${lastStatusOf(plan)}`,
      ).catch((error: unknown) => {
        throw new Error(`${String(error)}; it is ${status}`);
      });
      this.#ended.add(plan);
    });
  }

  /** The balance is the sum of what happened. */
  async expectBalance(): Promise<void> {
    let balance = OPENING_BALANCE;
    for (const plan of this.known) {
      const last = lastStatusOf(plan);
      if (last === 'paid') balance += plan.amount - Math.round(plan.amount / 100);
      if (last === 'completed' || last === 'pending') balance -= plan.amount + CASHOUT_FEE;
    }
    assert.is(await this.#main.balance(), balance);
    assert.is(await this.#expiring.balance(), 0);
  }

  /**
   * The receiver has every event of every transaction. What has come is read once: where the receiver is in this
   * process, what this takes is time that it doesn't answer in.
   */
  async expectDelivered(received: () => readonly Received[], withinMs: number): Promise<void> {
    let missing = this.known.flatMap((plan) =>
      statusesOf(plan).map((status) => `${plan.id} ${plan.kind}.${status}`),
    );
    const arrived = new Set<string>();
    let read = 0;
    const isAll = (): boolean => {
      const all = received();
      for (const { headers } of all.slice(read))
        arrived.add(`${headers['x-transaction-id']} ${headers['x-event']}`);
      read = all.length;
      missing = missing.filter((event) => !arrived.has(event));
      return missing.length === 0;
    };
    await until(isAll, withinMs, 'every event at the receiver').catch((error: unknown) => {
      throw new Error(`${String(error)}: ${missing.length} are missing, among them ${missing.slice(0, 3)}`);
    });
  }

  /** Every status change came, in order among first arrivals, the same bytes each time, and nothing else. */
  expectEvents(received: readonly Received[]): void {
    const firsts = new Map<string, { event: string; key: string; body: string }[]>();
    for (const { headers, rawBody } of received) {
      const id = String(headers['x-transaction-id']);
      const key = String(headers['idempotency-key']);
      const body = rawBody.toString('utf8');
      const own = firsts.get(id) ?? [];
      firsts.set(id, own);
      const before = own.find((first) => first.key === key);
      if (before === undefined) own.push({ event: String(headers['x-event']), key, body });
      else assert.is(body, before.body, `${key} came again with another body`);
    }
    for (const plan of this.known) {
      const arrived = (firsts.get(plan.id ?? '') ?? []).map(({ event }) => event);
      const expected = statusesOf(plan).map((status) => `${plan.kind}.${status}`);
      assert.equal(arrived, expected, `events of ${plan.kind} ${plan.id} of ${plan.amount}`);
      firsts.delete(plan.id ?? '');
    }
    assert.equal([...firsts.keys()], [], 'events of transactions that nobody asked for');
  }
}

/** Two accounts with all their webhooks at one URL, and a load on them. */
export async function loadOn(server: Server, hook: string, random: () => number): Promise<Load> {
  const [main, expiring] = await Promise.all([
    merchant(server, ['--balance', String(OPENING_BALANCE), '--webhook-url', hook]),
    merchant(server, ['--expires-in', '1', '--webhook-url', hook]),
  ]);
  return new Load(main, expiring, random);
}
