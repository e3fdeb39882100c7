/** One of several has the lead in reading the journal again: never two at a time, and never nobody for long. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Lead } from '../../src/console/server/following/lead.ts';
import { StoreUnavailable } from '../../src/engine/store.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import { until } from '../support/wait.ts';

interface Player {
  lead: Lead;
  /** Where true, the store can't be reached from here. */
  isCutOff: boolean;
  troubles: unknown[];
}

const test = suite<{ store: MemoryStore; open(own: string, told: number): Player }>('lead');
/** With nothing new for ten seconds it is free; looks are 2.5 seconds apart. */
const FREE_MS = 10_000;
const TAKEN_MS = 20_000;

test.before.each((context) => {
  const store = new MemoryStore({ incarnation: 'tests', now: () => Date.now(), silentAfterMs: 5_000 });
  context.store = store;
  context.open = (own, told) => {
    const reach = (): void => {
      if (player.isCutOff) throw new StoreUnavailable('cut off');
    };
    const lead = new Lead({
      ...{ name: 'test', own, tell: () => told },
      mark: async (name) => {
        reach();
        return store.marks.mark(name);
      },
      swapMark: async (name, before, text) => {
        reach();
        return store.marks.swapMark(name, before, text);
      },
      onTrouble: (error) => player.troubles.push(error),
    });
    const player: Player = { lead, isCutOff: false, troubles: [] };
    opened.push(lead);
    return player;
  };
});

/** One that ticks on would keep this process up where a test fails. */
const opened: Lead[] = [];
test.after.each(async () => {
  await Promise.all(opened.splice(0).map((lead) => lead.close()));
});

test('whoever has it leaves it before another one takes it, and tells the others', async ({ open }) => {
  const a = open('a', 1);
  await until(() => a.lead.isHeld, 5_000, 'the first one has it');
  const b = open('b', 2);
  await until(() => b.lead.told === 1, 5_000, 'the other one hears');
  assert.not(b.lead.isHeld);
  a.isCutOff = true;
  const began = performance.now();
  let leftAt = 0;
  await until(
    () => {
      if (!a.lead.isHeld) leftAt ||= performance.now();
      assert.not(a.lead.isHeld && b.lead.isHeld, 'two have it');
      return b.lead.isHeld;
    },
    TAKEN_MS,
    'the other one has it',
  );
  assert.ok(leftAt > began && a.troubles.length > 0);
  assert.ok(performance.now() - began > FREE_MS - 5_000, 'it waited');
  a.isCutOff = false;
  await until(() => a.lead.told === 2, 10_000, 'the first one hears that it has lost it');
  assert.not(a.lead.isHeld);
  await b.lead.close();
  assert.not(b.lead.isHeld);
  await until(() => a.lead.isHeld, 5_000, 'one that leaves waits for nobody');
  await a.lead.close();
});

test('of several who begin at once one has it, and a new run of the same goes on', async ({ open }) => {
  const players = ['a', 'b', 'c'].map((own, index) => open(own, index));
  const holders = (): Player[] => players.filter(({ lead }) => lead.isHeld);
  await until(() => holders().length === 1, 5_000, 'one has it');
  const [holder] = holders();
  const own = ['a', 'b', 'c'][players.indexOf(holder as Player)] ?? '';
  // Its thread died, and another one of its process begins.
  (holder as Player).isCutOff = true;
  const again = open(own, 9);
  await until(() => again.lead.isHeld, 2_000, 'it needn’t wait for itself');
  await Promise.all([...players, again].map(({ lead }) => lead.close()));
});

test.run();
