/** A payout's turn: when its order goes out, when it is asked about instead, and which refusal counts. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Payouts } from '../../src/bank/payouts.ts';
import { Refusals } from '../../src/bank/refusals.ts';
import { BankNotBegun, BankOutcomeUnknown, BankRefused, type PayoutContract } from '../../src/engine/bank.ts';

const test = suite('payouts');

const NOW = Date.UTC(2026, 0, 5, 12);
const REFUSAL_MS = 60_000;
/** Long ago by the clock. */
const REFUSED_AT = 1;
const OURS: PayoutContract = { clientId: 'us', pixKey: 'key', profile: 'efi' };
const START = { id: 's', type: 'START', data: {} };

interface Case {
  /** Whether the journal says already that the order was begun; under which contract. */
  begun?: PayoutContract;
  value?: string;
  /** It has ended; by which messages. */
  endedBy?: string[];
  /** How a person settles it while the bank is asked. */
  settled?: string;
  /** For how long the refusal of an earlier turn has stood, ms; null: another process heard it. */
  refusedMs?: number | null;
  /** What the engine says to whoever begins it. */
  answer?: 'applied' | 'repeated';
  /** Whether the claim is ours, each time that it is looked at. */
  ours?: boolean[];
  canAskAbout?: boolean;
  canRepeatUnknown?: boolean;
  /** What the bank says to the order. */
  submit?(): { messages?: object[]; bankId?: string };
  /** What it says to a question; null: it surely doesn't know the order. */
  knows?: object[] | null;
}

function refuses(): never {
  throw new BankRefused('no');
}

/** What one turn does: orders that go out, questions, what is booked, and when the next turn comes. */
async function turned(given: Case) {
  const { answer = 'applied', ours = [], knows = [], canAskAbout = true, canRepeatUnknown = true } = given;
  const sent: PayoutContract[] = [];
  const told: string[] = [];
  const next: unknown[] = [];
  let questions = 0;
  const record = {
    ...{ id: 't', account: 'a', seqs: [1, 2], submitted: given.begun !== undefined },
    ...{
      final: given.endedBy !== undefined,
      messages: Object.fromEntries((given.endedBy ?? []).map((id) => [id, ''])),
    },
    snapshot: { value: given.value ?? 'pending' },
  };
  const entries = [{ type: 'CREATE' }, { type: 'SUBMIT', data: given.begun ?? OURS }];
  const { refusedMs } = given;
  const order = { kind: 'payout' as const, ...(refusedMs !== undefined && { refusedAt: REFUSED_AT }) };
  const due = { kind: 'bank' as const, at: NOW, account: 'a', transaction: 't', tries: 0, order };
  let elapsed = 0;
  const refusals = new Refusals(() => elapsed, REFUSAL_MS);
  if (typeof refusedMs === 'number') refusals.heard(due);
  elapsed = refusedMs ?? 0;
  const parts = {
    engine: { send: async () => ({ kind: answer }) },
    journal: {
      transaction: async () => {
        const value = questions > 0 && given.settled !== undefined ? given.settled : record.snapshot.value;
        return { ...record, submitted: true, snapshot: { value } };
      },
      entries: async () => entries.map((message) => ({ entry: { message } })),
    },
    bank: {
      ...{ pace: { refusalMs: REFUSAL_MS }, canRepeatUnknown, canAskAbout: () => canAskAbout },
      contract: async () => OURS,
      submit: async (_: unknown, contract: PayoutContract, mayBegin: () => Promise<boolean>) => {
        if (!(await mayBegin())) throw new BankNotBegun('no more');
        sent.push(contract);
        return given.submit?.() ?? { messages: [START] };
      },
      query: async () => {
        questions += 1;
        return knows;
      },
    },
    now: () => NOW,
    elapsed: () => elapsed,
    refusals,
    isOurs: async () => ours.shift() ?? true,
    mayBegin: async () => (await parts.journal.transaction()).snapshot.value === 'pending',
    told: async (_: unknown, messages: { type: string }[]) => {
      told.push(...messages.map(({ type }) => type));
      return 'told';
    },
    refused: ({ order }: { order: object }) => {
      next.push({ ...order, refused: true });
      return { next: null };
    },
    later: ({ order }: { order: object }, changes: object = {}, waitMs?: number) => {
      next.push({ ...order, ...changes, ...(waitMs !== undefined && { waitMs }) });
      return { next: null };
    },
  };
  const payouts = new Payouts(parts as unknown as ConstructorParameters<typeof Payouts>[0]);
  await payouts.turn({ token: '1', due }, due, record as unknown as Parameters<Payouts['turn']>[2]);
  return { sent: sent.length, questions, told, next };
}

const PAYOUT = { kind: 'payout' };

test('whoever begins it sends the order, and books what the bank says', async () => {
  const expected = { sent: 1, questions: 0, told: ['START'], next: [PAYOUT] };
  assert.equal(await turned({}), expected);
});

test('whoever was not the first, or is none of ours any more, asks and sends nothing', async () => {
  const asked = { sent: 0, questions: 1, told: ['START'], next: [PAYOUT] };
  assert.equal(await turned({ answer: 'repeated', knows: [START] }), asked);
  assert.equal(await turned({ ours: [false], knows: [START] }), asked);
});

test('the first order’s refusal is the transfer’s, unless somebody else may have sent it meanwhile', async () => {
  assert.equal((await turned({ submit: refuses })).told, ['REJECT']);
  const taken = await turned({ submit: refuses, ours: [true, false] });
  assert.equal(taken, {
    ...{ sent: 1, questions: 0, told: [] },
    next: [{ ...PAYOUT, refused: true }],
  });
});

test('the same goes out again where the bank surely doesn’t know it, and its refusal is asked about', async () => {
  const again: Case = { begun: OURS, knows: null };
  assert.equal(await turned(again), { sent: 1, questions: 1, told: ['START'], next: [PAYOUT] });
  assert.equal(await turned({ ...again, submit: refuses }), {
    ...{ sent: 1, questions: 1, told: [] },
    next: [{ ...PAYOUT, refused: true }],
  });
  // Where it can't be asked about, the order is the question.
  assert.equal(await turned({ begun: OURS, canAskAbout: false, submit: refuses }), {
    ...{ sent: 1, questions: 0, told: [] },
    next: [PAYOUT],
  });
});

test('what a person settles while the bank is asked goes out no more', async () => {
  const settled = await turned({ begun: OURS, knows: null, settled: 'failed' });
  assert.equal(settled, { sent: 0, questions: 1, told: [], next: [PAYOUT] });
});

test('a refusal counts once it has stood for its time, by whoever heard it, and the bank still knows nothing', async () => {
  const refused = (refusedMs: number | null, knows: object[] | null) =>
    turned({ begun: OURS, refusedMs, knows });
  const waits = (waitMs: number) => ({
    ...{ sent: 0, questions: 1, told: [] },
    next: [{ ...PAYOUT, refusedAt: REFUSED_AT, waitMs }],
  });
  assert.equal(await refused(REFUSAL_MS - 1, null), waits(1));
  const late = await refused(REFUSAL_MS, null);
  assert.equal([late.sent, late.told], [0, ['REJECT']]);
  // What the clock shows tells nothing: it may have been set since.
  assert.equal(await refused(null, null), waits(REFUSAL_MS));
  // What the bank knows it hasn't refused: that was another order.
  assert.equal(await refused(REFUSAL_MS, [START]), {
    ...{ sent: 0, questions: 1, told: ['START'] },
    next: [PAYOUT],
  });
});

test('nothing goes out again that could pay twice', async () => {
  const unknown: Case = { begun: OURS, knows: null };
  const waits = { sent: 0, questions: 1, told: [], next: [PAYOUT] };
  assert.equal(await turned({ ...unknown, canRepeatUnknown: false }), waits);
  assert.equal(await turned({ ...unknown, value: 'processing' }), waits);
  assert.equal(await turned({ ...unknown, ours: [false] }), waits);
  for (const name of ['clientId', 'pixKey', 'profile'])
    assert.equal(await turned({ ...unknown, begun: { ...OURS, [name]: 'other' } }), waits, name);
});

test('one that ops have ended is asked about until the bank has ended it, and never sent', async () => {
  const ended = (given: Case) => turned({ begun: OURS, value: 'failed', endedBy: ['by-ops'], ...given });
  const asked = { sent: 0, questions: 1, told: [], next: [] };
  const [settle, fail] = ['SETTLE', 'FAIL'].map((type) => ({ id: type, type, data: {} }));
  assert.equal(await ended({ knows: [START] }), { ...asked, told: ['START'], next: [PAYOUT] });
  assert.equal(await ended({ knows: [] }), { ...asked, next: [PAYOUT] });
  // Its end is told, unless it is what ops have said.
  assert.equal(await ended({ knows: [settle ?? {}] }), { ...asked, told: ['SETTLE'] });
  assert.equal(await ended({ knows: [fail ?? {}] }), asked);
  assert.equal(await ended({ knows: [settle ?? {}], value: 'completed' }), asked);
  assert.equal(await ended({ knows: [fail ?? {}], value: 'completed' }), { ...asked, told: ['FAIL'] });
  // The bank may show only a moment later what was on its way.
  assert.equal(await ended({ knows: null }), { ...asked, next: [{ ...PAYOUT, refused: true }] });
  assert.equal(await ended({ knows: null, refusedMs: REFUSAL_MS }), asked);
  const nothing = { ...asked, questions: 0 };
  assert.equal(await ended({ canAskAbout: false }), nothing);
  assert.equal(await ended({ endedBy: ['env:t:FAIL'] }), nothing);
});

test('an order whose outcome is unknown is no refusal: the desk hears of it', async () => {
  const lost = turned({
    submit: () => {
      throw new BankOutcomeUnknown('lost');
    },
  });
  await lost.then(
    () => assert.unreachable(),
    (error) => assert.instance(error, BankOutcomeUnknown),
  );
});

test.run();
