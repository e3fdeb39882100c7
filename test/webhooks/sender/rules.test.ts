/** The queue's rules over hundreds of runs of chance: each is decided by its seed, which a failure names. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../../scripts/simulation/random.ts';
import { turn } from '../../../src/waiting.ts';
import type { Ending } from '../../../src/webhooks/sender/attempt.ts';
import { hasRoom, noneRunning, type Slot } from '../../../src/webhooks/sender/lanes.ts';
import { type SenderLimits, senderLimits } from '../../../src/webhooks/sender/limits.ts';
import { OriginQueue } from '../../../src/webhooks/sender/queue.ts';
import { item } from './receivers.ts';

const test = suite('rules of the order of webhook attempts');

const RUNS = 300;
const STEPS = 120;
const ENDINGS: readonly Ending[] = ['complete', 'heardOut', 'cut', 'failed', 'timeout'];

type Of = 'waiting' | 'running' | 'over';

class Run {
  readonly #random: Random;
  readonly #limits: SenderLimits;
  readonly #queue: OriginQueue;
  readonly #running: Slot[] = [];
  readonly #items = new Map<string, { of: Of; since: number }>();
  /** What waits for each URL of each account, in order. */
  readonly #lines = new Map<string, string[]>();
  readonly #nameOf = new Map<string, string>();
  readonly #endsAtOnce: boolean;
  #now = 0;
  #wrong: unknown;

  constructor(seed: number) {
    const random = new Random(seed);
    this.#random = random;
    const maxPerOrigin = random.pick([1, 2, 6, 16, 128]);
    this.#limits = senderLimits({
      maxInFlight: random.pick([1, 4, 9, 16, 64, 512]),
      maxPerOrigin,
      maxWaitingPerOrigin: random.pick([4, 20, 200]),
      startPerUrl: Math.min(maxPerOrigin, random.pick([1, 2, 4])),
    });
    this.#endsAtOnce = random.perMille(300);
    this.#queue = new OriginQueue(this.#limits, {
      start: (slot) => this.#noting(() => this.#started(slot)),
      putOff: (token) => this.#noting(() => this.#left(token, 'over')),
      release: (lane) => {
        const left = [...lane.targets.values()].filter(
          ({ running, waiting }) => running + waiting.length > 0,
        );
        this.#noting(() => assert.is(left.length, 0, 'what is released has ended'));
      },
      clock: () => this.#now,
    });
  }

  /** Rounds run by themselves: what is found wrong there is told by the next look. */
  #noting(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#wrong ??= error;
    }
  }

  /** An item leaves the line that it waits in. */
  #left(token: string, of: Of): void {
    const known = this.#items.get(token);
    assert.is(known?.of, 'waiting', 'what is started or put off has waited');
    this.#items.set(token, { of, since: this.#now });
    const line = this.#lines.get(this.#nameOf.get(token) ?? '') ?? [];
    const at = line.indexOf(token);
    if (of === 'running') assert.is(at, 0, 'the first of its line starts');
    line.splice(at, 1);
  }

  #started(slot: Slot): void {
    const { target, standing, send } = slot;
    this.#left(send.token, 'running');
    const { lane } = target;
    assert.ok(target.running <= target.limit, 'rule 1');
    const inLane = [...lane.targets.values()].reduce((sum, { running }) => sum + running, 0);
    assert.ok(inLane <= this.#limits.maxPerOrigin, 'rule 2');
    // As it was before this one.
    const [all, own] = [noneRunning(), noneRunning()];
    for (const each of this.#running) {
      all[each.standing] += 1;
      if (each.target.lane.traffic === lane.traffic) own[each.standing] += 1;
    }
    assert.ok(hasRoom(standing, this.#limits.maxInFlight, all, own), 'rules 3 and 4');
    if (standing === 'hangs') assert.is(target.running, 1, 'rule 5');
    this.#running.push(slot);
    if (this.#endsAtOnce && this.#random.perMille(200)) this.#end(this.#running.length - 1, 'failed');
  }

  #end(index: number, ending: Ending): void {
    const [slot] = this.#running.splice(index, 1);
    if (slot === undefined) return;
    this.#items.set(slot.send.token, { of: 'over', since: this.#now });
    const limit = this.#limitAfter(slot, ending);
    if (ending !== 'failed' && ending !== 'timeout') this.#queue.answered(slot);
    this.#queue.ended(slot, ending);
    assert.is(slot.target.limit, limit, 'rule 1');
  }

  #limitAfter({ target: { limit, waiting } }: Slot, ending: Ending): number {
    const { startPerUrl, maxPerOrigin } = this.#limits;
    if (ending === 'timeout') return startPerUrl;
    if (ending === 'failed') return Math.max(startPerUrl, Math.floor(limit / 2));
    return ending === 'cut' || waiting.length === 0 ? limit : Math.min(maxPerOrigin, limit + 1);
  }

  #add(): void {
    const account = `acc_${this.#random.int(6)}`;
    const url = `http://o${this.#random.int(3)}.example/${this.#random.int(6)}`;
    const name = `${account} ${url}`;
    const line = this.#lines.get(name) ?? [];
    this.#lines.set(name, line);
    for (let left = 1 + this.#random.int(this.#random.perMille(100) ? 60 : 6); left > 0; left--) {
      const token = `t${this.#items.size}`;
      this.#items.set(token, { of: 'waiting', since: this.#now });
      this.#nameOf.set(token, name);
      line.push(token);
      this.#queue.add(item(token, url, { account }), new URL(url));
    }
  }

  #sweep(): void {
    this.#now += 1_000;
    this.#queue.sweep();
  }

  #step(): void {
    const chance = this.#random.int(100);
    if (chance < 40) this.#add();
    else if (chance < 85)
      for (let left = 1 + this.#random.int(4); left > 0; left--)
        this.#end(this.#random.int(Math.max(1, this.#running.length)), this.#random.pick(ENDINGS));
    else for (let left = chance < 97 ? 1 : 7; left > 0; left--) this.#sweep();
  }

  /** Rule 6: nothing waits longer than it may, but for the time until the next sweep. */
  #look(): void {
    if (this.#wrong !== undefined) throw this.#wrong;
    for (const { of, since } of this.#items.values())
      if (of === 'waiting') assert.ok(this.#now - since <= this.#limits.maxWaitMs + 1_000, 'rule 6');
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.#step();
      await turn();
      this.#look();
    }
    for (let left = 50_000; [...this.#items.values()].some(({ of }) => of !== 'over'); left--) {
      assert.ok(left > 0, 'all ends');
      if (this.#running.length > 0) this.#end(0, 'complete');
      else this.#sweep();
      await turn();
      this.#look();
    }
  }
}

test('the rules hold whatever comes and however it ends', async () => {
  for (let seed = 1; seed <= RUNS; seed++) {
    try {
      await new Run(seed).run();
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
    }
  }
});

test.run();
