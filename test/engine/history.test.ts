/** Histories of any length: what they name, what they cost, and who is heard meanwhile. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { webhookPayload } from '../../src/domain/webhook-payload.ts';
import { deliveriesOf, deliveryList, takenBy } from '../../src/engine/history.ts';
import type { Entry, TransactionRecord } from '../../src/engine/journal.ts';
import { project } from '../../src/engine/project.ts';
import type { JournalReads } from '../../src/engine/store.ts';
import { chargeCreated, chargeMoved, chargePaid } from '../store/contract/builders.ts';

const s = suite('history');

const ACCOUNT = randomUUID();
const AT = Date.UTC(2026, 0, 5, 12);
const URL = 'https://example.com/hook';

/** A charge that is protested against and isn't, so many times; so many entries in each batch. */
function history(
  moves: number,
  inBatch: number,
): {
  record: TransactionRecord;
  entries: readonly Entry[];
  journal: Pick<JournalReads, 'entries' | 'deliveries'>;
} {
  const charge = chargeCreated(AT, { urls: [URL] });
  const id = charge.transaction;
  const moved = Array.from({ length: moves }, (_, index): Entry => {
    const [from, to] = index % 2 === 0 ? ['paid', 'in_protest'] : ['in_protest', 'paid'];
    const entry = chargeMoved(AT + index, id, from as string, to as string);
    const event = { id: `evt_${index}`, name: `pix-in.${to}` };
    return { ...entry, events: [{ ...event, deliveries: [{ id: `dlv_${index}`, url: URL, after: null }] }] };
  });
  const entries = [charge, chargePaid(AT, id, 'E1'), ...moved];
  const seqs = [...new Set(entries.map((_, index) => 1 + Math.floor(index / inBatch)))];
  const record = { ...project(null, ACCOUNT, 1, charge), seqs };
  const journal = {
    entries: async (_account: string, _transaction: string, wanted: readonly number[]) =>
      wanted.flatMap((seq) =>
        entries.slice((seq - 1) * inBatch, seq * inBatch).map((entry) => ({ seq, entry })),
      ),
    deliveries: async () => [],
  };
  return { record, entries, journal };
}

/** How many turns of the event loop others had meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let goesOn = true;
  const next = (): void => {
    turns += 1;
    if (goesOn) setImmediate(next);
  };
  setImmediate(next);
  await work();
  goesOn = false;
  return turns;
}

s('a payload tells what the transaction was as of its event', async () => {
  const { record, entries, journal } = history(600, 7);
  let then: TransactionRecord | null = null;
  const wanted: object[] = [];
  for (const entry of entries) {
    then = project(then, ACCOUNT, 1, entry);
    for (const event of entry.events)
      if (event.deliveries.length > 0) wanted.push(webhookPayload(event, entry.at, then));
  }
  const named = await deliveriesOf(journal, record);
  assert.is(named.length, 601);
  assert.equal(
    named.map(({ payload }) => payload),
    wanted,
  );
  assert.equal(
    (await takenBy(journal, record)).map(({ entry }) => entry),
    entries,
  );
});

s('a history whose first entry has no snapshot names nothing', async () => {
  const { record, entries } = history(1, 1);
  const headless = {
    entries: async () => entries.map((entry) => ({ seq: 1, entry: { ...entry, snapshot: null } })),
  };
  try {
    await deliveriesOf(headless, record);
    assert.unreachable();
  } catch (error) {
    assert.match(String(error), 'has no snapshot');
  }
});

for (const inBatch of [1, 100]) {
  s(`others are heard while a long history is read, ${inBatch} entries in a batch`, async () => {
    const { record, journal } = history(12_000, inBatch);
    const before = process.cpuUsage();
    let list: object[] = [];
    const turns = await turnsDuring(async () => {
      list = await deliveryList(journal, record);
    });
    const { user } = process.cpuUsage(before);
    assert.is(list.length, 12_001);
    assert.ok(turns >= 50, `${turns} turns`);
    // A copy of all ids before for each entry takes ten times as long, and four times that for twice the entries.
    assert.ok(user < 3_000_000, `${user / 1_000} ms`);
  });
}

s.run();
