/** Properties of `decide` and `project` over any history: sums, purity, replay, independence of batches. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { sumOfPostings } from '../../src/domain/money.ts';
import type { Command } from '../../src/engine/commands.ts';
import type { Entry } from '../../src/engine/journal.ts';
import { lookupsOf } from '../../src/engine/lookups.ts';
import { changedParts, dueOf, project } from '../../src/engine/project.ts';
import { digestOf } from '../../src/engine/store/content.ts';
import { holds } from '../domain/holds.ts';
import {
  ACCOUNT,
  adjustment,
  charge,
  due,
  EXPIRY,
  frozen,
  Ledger,
  message,
  payment,
  transfer,
  uuid,
} from './support.ts';

const s = suite('project');

const TYPES = [
  'PAY',
  'HOLD',
  'APPROVE',
  'REFUSE',
  'FAIL',
  'CANCEL',
  'EXPIRE',
  'REFUND',
  'CHARGEBACK',
  'PROTEST',
  'DISMISS',
  'START',
  'SETTLE',
  'REJECT',
];
const IDS = ['m1', 'm2', 'm3', 'constructor', '__proto__', 'toString'];
const CHARGES = [1, 2, 3].map(uuid);
const TRANSFERS = [4, 5, 6].map(uuid);
const ALL = [...CHARGES, ...TRANSFERS];
const WEBHOOKS = [
  { url: 'https://a', events: null, secrets: [] },
  { url: 'https://b', events: ['pix-in.*'], secrets: [] },
];

const messages = fc
  .record({
    transaction: fc.constantFrom(...ALL),
    type: fc.constantFrom(...TYPES),
    id: fc.constantFrom(...IDS),
    payment: fc.integer({ min: 1, max: 4 }),
    amount: fc.constantFrom(10_000, 10_000, 10_000, 9_999),
    bare: fc.boolean(),
    door: fc.constantFrom('bank' as const, 'sandbox' as const, 'ops' as const),
  })
  .map(({ transaction, type, id, payment: n, amount, bare, door }): Command => {
    const needed = type === 'PAY' || type === 'HOLD';
    const { endToEndId, ...rest } = payment(n, amount);
    const data = needed ? { endToEndId, ...rest } : bare ? {} : { endToEndId };
    return message(transaction, type, data, { id, door });
  });

const others: fc.Arbitrary<Command> = fc.oneof(
  fc.constantFrom(...CHARGES).map((id) => due(id, EXPIRY, 0)),
  fc.constantFrom(...TRANSFERS).map((transaction): Command => ({ kind: 'submit', transaction })),
  fc
    .record({
      amount: fc.integer({ min: -3_000, max: 3_000 }),
      id: fc.constantFrom(...IDS),
      debt: fc.boolean(),
    })
    .map(({ amount, id, debt }): Command => adjustment(amount, id, debt)),
);

/** Batches of commands, and how much time passes before each. */
const histories = fc.array(
  fc.record({
    commands: fc.array(fc.oneof({ weight: 5, arbitrary: messages }, { weight: 1, arbitrary: others }), {
      minLength: 1,
      maxLength: 8,
    }),
    waitMs: fc.constantFrom(0, 1, 1_000, 1_800_000),
  }),
  { maxLength: 12 },
);

type History = { commands: Command[]; waitMs: number }[];

function created(ledger: Ledger): void {
  ledger.surroundings = { webhooks: WEBHOOKS, everyDoorSpeaks: false };
  ledger.commit(adjustment(2_000), ...CHARGES.map((id) => charge(id, { externalRef: 'constructor' })));
  ledger.commit(
    ...TRANSFERS.map((id, index) => transfer(id, { idempotencyKey: IDS[index + 3] ?? null, amount: 500 })),
  );
}

/** Runs a history and gives what was answered, as kinds; `split`: each command is a batch of its own. */
function play(history: History, split = false): { ledger: Ledger; answers: string[] } {
  const ledger = new Ledger();
  created(ledger);
  const answers: string[] = [];
  for (const { commands, waitMs } of history) {
    ledger.now += waitMs;
    const batches = split ? commands.map((command) => [command]) : [commands];
    for (const batch of batches) answers.push(...ledger.commit(...batch).map(({ answer }) => answer.kind));
  }
  return { ledger, answers };
}

/** What doesn't depend on how commands were batched. */
function essence({ ledger, answers }: { ledger: Ledger; answers: string[] }): string {
  const records = ALL.filter((id) => ledger.has(id)).map((id) => ({ ...ledger.record(id), seqs: null }));
  return canonicalJson([answers, ledger.balances, records, ledger.entries.map(({ entry }) => entry)]);
}

const RUNS = { numRuns: 150, seed: 20_260_105 };

s('the postings of every entry sum to zero, and the balance is the sum of its legs', () => {
  holds(
    fc.property(histories, (history) => {
      const { ledger } = play(history);
      let available = 0;
      for (const { entry } of ledger.entries) {
        assert.is(sumOfPostings(entry.postings), 0);
        for (const { leg, amount } of entry.postings) if (leg === 'available') available += amount;
        if (entry.message.type === 'CREATE' && entry.type === 'cashout') assert.ok(available >= 0);
      }
      assert.is(available, ledger.balances.available);
    }),
    RUNS,
  );
});

s('replaying the entries, once written and read, gives the same bytes', () => {
  holds(
    fc.property(histories, (history) => play(history).ledger.assertReplays()),
    RUNS,
  );
});

s('decisions depend on nothing but their inputs, and not on how commands are batched', () => {
  holds(
    fc.property(histories, (history) => {
      const whole = essence(play(history));
      assert.is(essence(play(history)), whole);
      assert.is(essence(play(history, true)), whole);
    }),
    RUNS,
  );
});

s('a change of status is one event, a status is what its last event says, nothing else emits', () => {
  holds(
    fc.property(histories, (history) => {
      const { ledger } = play(history);
      for (const { entry } of ledger.entries) {
        const names = entry.events.map(({ name }) => name);
        const implied =
          entry.type === 'cashout' && entry.from === 'pending' && /completed|failed/.test(entry.to ?? '');
        const moved = entry.from !== entry.to;
        assert.is(names.length, moved ? (implied ? 2 : 1) : 0);
        if (moved) assert.is(names.at(-1), `${entry.type}.${entry.to}`);
      }
    }),
    RUNS,
  );
});

s('project leaves the record and the entry as they were', () => {
  holds(
    fc.property(histories, (history) => {
      const { ledger } = play(history);
      for (const { seq, entry } of ledger.entries) {
        const id = entry.transaction;
        if (id === null) continue;
        const before = frozen(structuredClone(ledger.record(id)));
        const text = canonicalJson([before, entry]);
        const after = project(before, ACCOUNT, seq, entry);
        assert.is(canonicalJson([before, entry]), text);
        assert.is.not(after, before);
        lookupsOf(entry);
        dueOf(ACCOUNT, entry, 0);
        assert.is(canonicalJson(entry), canonicalJson(JSON.parse(canonicalJson(entry)) as Entry));
      }
    }),
    { ...RUNS, numRuns: 40 },
  );
});

s('what is refused makes no record longer', () => {
  const [id] = CHARGES;
  if (id === undefined) throw new Error('there is no charge');
  const lengths = [100, 400].map((count) => {
    const ledger = new Ledger();
    ledger.commit(charge(id));
    for (let nth = 0; nth < count; nth++) ledger.commit(message(id, 'DISMISS'));
    ledger.assertReplays();
    assert.is(ledger.record(id).refusals, count);
    return canonicalJson(ledger.record(id)).length;
  });
  assert.is(lengths[0], lengths[1]);
});

s('changedParts is what must be laid over the old to get the new', () => {
  const part = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'constructor'), fc.constantFrom(null, 1, 'x'));
  holds(
    fc.property(part, part, (before, added) => {
      const after = { ...before, ...added };
      const changes = changedParts(frozen(before), frozen(after));
      assert.is(canonicalJson({ ...before, ...changes }), canonicalJson(after));
      for (const name of Object.keys(changes)) assert.ok(Object.keys(added).includes(name));
    }),
    RUNS,
  );
});

s('an entry of the account itself, and a first entry without a snapshot, make no record', () => {
  const ledger = new Ledger();
  const taken = ledger.commit(adjustment(5))[0]?.taken;
  if (!taken) throw new Error('nothing was taken');
  assert.throws(() => project(null, ACCOUNT, 1, taken.entry), /account itself/);
  assert.throws(
    () => project(null, ACCOUNT, 1, { ...taken.entry, transaction: uuid(1), type: 'cashout' }),
    /no snapshot/,
  );
});

s('a digest tells type and data apart, and nothing else: the order of names is no difference', () => {
  assert.is(digestOf('PAY', { a: 1, b: 2 }), digestOf('PAY', { b: 2, a: 1 }));
  const all = [
    digestOf('PAY', {}),
    digestOf('HOLD', {}),
    digestOf('PAY', { a: null }),
    digestOf('PAY', { a: [] }),
  ];
  assert.is(new Set(all).size, 4);
});

s.run();
