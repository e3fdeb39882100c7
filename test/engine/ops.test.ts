/** What is decided about acts of ops that are no message, and who of ops a message names. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decideAgain } from '../../src/audit/redecide.ts';
import type { By } from '../../src/domain/messages.ts';
import type { Answer, Command } from '../../src/engine/commands.ts';
import { ZERO_HASH } from '../../src/engine/journal.ts';
import { contentOf, digestOf } from '../../src/engine/store/content.ts';
import { adjustment, charge, Ledger, message, START, uuid } from './support.ts';

const test = suite('ops');
const A = uuid(1);
const ANA: By = { name: 'Ana', reason: 'the receiver is back', role: 'operator' };

function act(id: string, asked: object, data: object = asked): Command & { kind: 'act' } {
  const digest = digestOf('OPS', { action: 'retry', asked });
  return { kind: 'act', id, action: 'retry', data, digest, by: ANA };
}

function answerOf(ledger: Ledger, command: Command): Answer {
  const [decision] = ledger.commit(command);
  if (decision === undefined) throw new Error('no decision');
  return decision.answer;
}

test('an act has one entry of the account under its id, and moves nothing', () => {
  const ledger = new Ledger();
  ledger.commit(adjustment(5_000));
  const balances = { ...ledger.balances };
  const at = new Date(START).toISOString();
  assert.equal(answerOf(ledger, act('a-1', { url: 'u' }, { url: 'u', count: 2 })), {
    kind: 'acted',
    at,
    applied: true,
  });
  const entry = ledger.entries.at(-1)?.entry;
  assert.equal([entry?.transaction, entry?.type, entry?.postings], [null, null, []]);
  const { digest } = act('a-1', { url: 'u' });
  assert.equal(entry?.message, {
    ...{ by: ANA, data: { action: 'retry', data: { url: 'u', count: 2 } }, digest, door: 'ops' },
    ...{ id: 'a-1', type: 'OPS' },
  });
  assert.equal(ledger.balances, balances);
  // Told again later, and with other words about who and what it comes to: the first entry holds.
  ledger.now += 60_000;
  const again = { ...act('a-1', { url: 'u' }, { url: 'u', count: 7 }), by: { ...ANA, name: 'Eva' } };
  assert.equal(answerOf(ledger, again), { kind: 'acted', at, applied: false });
  assert.is(answerOf(ledger, act('a-1', { url: 'other' })).kind, 'notActed');
  assert.is(answerOf(ledger, act('opening', { url: 'u' })).kind, 'notActed', "an adjustment's id");
  assert.is(answerOf(ledger, { ...adjustment(5), id: 'a-1' }).kind, 'notAdjusted', "an act's id");
  assert.is(ledger.entries.length, 2);
});

test('who sent a message stands in its entry, and is no part of what repeats are known by', () => {
  const ledger = new Ledger();
  ledger.commit(charge(A));
  const pay = message(A, 'PAY', {}, { door: 'ops', by: ANA });
  assert.is(answerOf(ledger, pay).kind, 'applied');
  assert.equal(ledger.entries.at(-1)?.entry.message.by, ANA);
  assert.is(answerOf(ledger, { ...pay, by: { ...ANA, name: 'Eva' } }).kind, 'repeated');
  const { by: _by, ...nobody } = pay;
  assert.is(answerOf(ledger, nobody).kind, 'repeated');
  assert.is(ledger.entries.length, 2);
});

test('an entry that names nobody is stored as former builds stored it', () => {
  const ledger = new Ledger();
  ledger.commit(adjustment(5_000));
  const { entry } = ledger.entries[0] ?? {};
  if (entry === undefined) throw new Error('no entry');
  assert.is(Object.hasOwn(entry.message, 'by'), false);
  const batch = { account: 'acc', seq: 1, id: 'b', at: entry.at, previous: ZERO_HASH };
  const content = contentOf({ ...batch, entries: [entry], balances: ledger.balances });
  const at = new Date(START).toISOString();
  const { digest } = adjustment(5_000);
  assert.is(
    content,
    `{"account":"acc","at":"${at}","balances":{"available":5000,"bank":-5000,"clearing":0,"fees":0},"entries":[{"message":{"data":{"amount":5000,"reason":"a test"},"digest":"${digest}","door":"ops","id":"opening","type":"ADJUST"},"postings":[{"amount":-5000,"leg":"bank"},{"amount":5000,"leg":"available"}]}],"id":"b","previous":"${ZERO_HASH}","seq":1}`,
  );
});

test('acts and signed entries are decided again to the same entry', async () => {
  const ledger = new Ledger();
  const signed = { ...adjustment(5_000), by: ANA };
  for (const command of [signed, act('a-1', { ids: ['x'] })]) {
    const { balances } = ledger;
    ledger.commit(command);
    const { seq = 0, entry } = ledger.entries.at(-1) ?? {};
    if (entry === undefined) throw new Error('no entry');
    const before = { account: 'acc', seq, balances, record: null, lookup: async () => null };
    assert.is(await decideAgain(before, entry, false), null);
    const other = { ...entry, message: { ...entry.message, by: { ...ANA, name: '' } } };
    assert.is(await decideAgain(before, other, false), null, 'who it was, only the chain of hashes tells');
  }
});

test.run();
