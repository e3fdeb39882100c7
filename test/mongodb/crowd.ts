/** Clients of several servers: which of them they ask, what became of it, and a model of what must have come of it. */
import * as assert from 'uvu/assert';
import { Load } from '../faults/load.ts';
import { expectVerified, RESUMED_MS } from '../faults/scene.ts';
import { type Client, type Merchant, merchant, type Reply } from '../support/client.ts';
import { askTransfer } from '../support/flows.ts';
import type { Received } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { sleep } from '../support/wait.ts';
import { elsewhere, withBalance } from './stage.ts';

/** What a model of a load counts an account's balance from, cents. */
const OPENING_BALANCE = 1_000_000_000;

/** Requests that may be under way when something breaks, and those that follow them before it is noticed. */
const UNDER_WAY = 36;

/** Less than the second that is asked for, so that there is something to look at. */
const BACK_OFF_MS = 150;

/** A client whose requests all go through `around`, which chooses whom to ask and looks at the answer. */
export function around(
  known: Merchant,
  send: (ask: (client: Client) => Promise<Reply>) => Promise<Reply>,
): Merchant {
  return withBalance({
    ...known,
    request: (...args) => send((client) => client.request(...args)),
    send: (...args) => send((client) => client.send(...args)),
    get: (...args) => send((client) => client.get(...args)),
    post: (...args) => send((client) => client.post(...args)),
  });
}

/** An account whose every request goes to one of several servers. */
export function spread(servers: readonly Server[], known: Merchant, random: () => number): Merchant {
  const clients = servers.map((server) => elsewhere(server, known));
  const pick = (): Client => clients[Math.floor(random() * clients.length)] ?? known;
  return around(known, (ask) => ask(pick()));
}

/** What became of a request: how long it took, and its status; 0 where no answer came. */
export interface Sample {
  /** `performance.now()` at its start. */
  at: number;
  ms: number;
  status: number;
}

/** Writes down what becomes of a client's requests. */
export function sampled(known: Merchant, samples: Sample[]): Merchant {
  return around(known, async (ask) => {
    const startedAt = performance.now();
    const sample = { at: startedAt, ms: Number.POSITIVE_INFINITY, status: 0 };
    samples.push(sample);
    try {
      const reply = await ask(known);
      sample.status = reply.status;
      return reply;
    } finally {
      sample.ms = performance.now() - startedAt;
    }
  });
}

/** A client that waits a little before it comes again, as it was told. */
function polite(known: Merchant): Merchant {
  return around(known, async (ask) => {
    const reply = await ask(known);
    if (reply.status === 503) await sleep(BACK_OFF_MS);
    return reply;
  });
}

/** How many of the samples had each status. */
export function tally(samples: readonly Sample[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of samples) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The time that this share of the samples did not exceed, ms. */
export function percentile(samples: readonly Sample[], share: number): number {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * All were answered, in words that a client understands, and in time: a socket that says nothing for 5 s is given
 * up, and so is a write. One that was under way may have met that in two reads and in its write, on a busy machine.
 */
export function expectAnswered(samples: readonly Sample[]): void {
  for (const status of Object.keys(tally(samples)))
    assert.ok(['200', '201', '409', '503'].includes(status), status);
  const share = Math.max(0, Math.min(0.98, 1 - UNDER_WAY / samples.length));
  const [most, all] = [share, 1].map((part) => percentile(samples, part));
  assert.ok(Number(most) < 6_500, `${(share * 100).toFixed(0)} % of the answers took up to ${most} ms`);
  assert.ok(Number(all) < 20_000, `an answer took ${all} ms`);
}

/** Samples in a line. */
export function told(samples: readonly Sample[]): string {
  const [half, most, all] = [0.5, 0.95, 1].map((share) => Math.round(percentile(samples, share)));
  return `${samples.length} requests ${JSON.stringify(tally(samples))}, half within ${half}, 95 % within ${most}, all within ${all} ms`;
}

/** What a model of a load reports, without the answers that say "come again". */
export function trulyUnexpected(load: Load): string[] {
  return load.unexpected.filter((line) => !/ got 50[34]: /.test(line));
}

/** Runs a load of so many clients for as long as the body takes, whatever becomes of it. */
export async function underLoad<Value>(
  load: Load,
  width: number,
  body: () => Promise<Value>,
): Promise<Value> {
  const stop = load.start(width);
  try {
    return await body();
  } finally {
    await stop();
  }
}

/** The accounts of a load, with all their webhooks at one URL. */
export async function loadAccounts(
  server: Server,
  hook: string,
): Promise<{ main: Merchant; expiring: Merchant }> {
  const [main, expiring] = await Promise.all([
    merchant(server, ['--balance', String(OPENING_BALANCE), '--webhook-url', hook]),
    merchant(server, ['--expires-in', '1', '--webhook-url', hook]),
  ]);
  return { main, expiring };
}

/** A load, and what became of its requests. */
export interface Spread {
  load: Load;
  samples: Sample[];
  /**
   * Asks each account for something that is refused. What a dead process cut off between a batch and its projection,
   * and told nobody of, is finished by whoever decides anything on the account, or by a sweep: not by a plain read.
   */
  touch(): Promise<void>;
}

/** A load whose requests go to whichever of the servers. */
export async function spreadLoad(
  servers: readonly [Server, ...Server[]],
  hook: string,
  random: () => number,
): Promise<Spread> {
  const { main, expiring } = await loadAccounts(servers[0], hook);
  const samples: Sample[] = [];
  const over = (known: Merchant): Merchant => polite(sampled(spread(servers, known, random), samples));
  const touch = async (): Promise<void> => {
    for (const known of [main, expiring]) {
      const refused = await askTransfer(known, 2 * OPENING_BALANCE);
      if (refused.status !== 400) throw new Error(`more than there is: ${refused.status} ${refused.text}`);
    }
  };
  return { load: new Load(over(main), over(expiring), random), samples, touch };
}

/** After a load: what was answered is so, the rest happened once or not at all, and everything has come to its end. */
export async function expectSettled(
  load: Load,
  received: () => readonly Received[],
  server: Server,
): Promise<void> {
  await load.settle(load.plans);
  await load.expectEnds(() => RESUMED_MS);
  await load.expectDelivered(received, RESUMED_MS);
  // Retries and repeats that are still under way change nothing of the first arrivals.
  load.expectEvents(received());
  await load.expectBalance();
  assert.equal(trulyUnexpected(load), []);
  await expectVerified(server);
}
