/** What an older build stored reads the same, before any server has it: with commands alone, which write as well. */
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type FixtureSuite, fixtureSuite } from '../support/fixture.ts';
import { at, type Json, list, object, text } from '../support/json.ts';
import { type Copy, countDeliveries, keptMerchant, keptOf } from '../support/older-build.ts';
import { eachOf } from '../support/wait.ts';

/** Of a payment that no older build was told of. */
const endToEndId = 'E12345678202611220000laterbuild1';
/** Commands at the same time: the machine has few cores. */
const TOGETHER = 2;
/** An analysis that takes longer is stuck. */
const ANALYSIS_MS = 72 * 3_600_000;

const ask = ({ dataDir, env }: Copy, ...args: string[]): Promise<Json> => cliJson(dataDir, args, env);

/** In an order of their own: items of one millisecond stand in any. */
function inOrder(items: readonly Json[]): string[] {
  return items.map((item) => JSON.stringify(item)).sort();
}

/** What a build kept when it was killed can't have been in analysis for so long: such an item is of the time since. */
function isOfAnalysis(item: Json): boolean {
  return text(item, 'kind') === 'stuck' && text(item, 'what').includes('has been in_analysis since');
}

async function attentionIds(copy: Copy, kind: string): Promise<string[]> {
  const items = list(await ask(copy, 'attention'), 'items').filter((item) => text(item, 'kind') === kind);
  return items.map((item) => text(item, 'id'));
}

/**
 * An entry as its build told it: those up to 70ffb18 said neither its door nor why it was refused, no code was stored
 * then; and those up to 9d9e428 kept nobody who had sent it.
 */
function asToldBefore(entry: Json, told: Json): Json {
  const { by, ...unsigned } = object(entry);
  assert.is(by, null);
  if (Object.hasOwn(object(told), 'door')) return unsigned;
  const { door, refusal, ...before } = unsigned;
  assert.ok(['api', 'bank', 'sandbox', 'ops', 'clock'].includes(String(door)));
  if (refusal !== null) {
    assert.is(at(entry, 'refusal.code'), null);
    assert.ok(text(entry, 'refusal.text') !== '');
  }
  return before;
}

function answersTheSame({ test }: FixtureSuite<Copy>): void {
  test('every journal has its bytes, its sums and its records, and the charts decide it as before', async (copy) => {
    const { heads, ...verified } = object(await ask(copy, 'verify', '--heads', '--decide'));
    assert.equal(verified, copy.kept.verified);
    assert.is(verified.ok, true);
    assert.equal(inOrder(list(heads ?? null)), inOrder(copy.kept.heads));
  });

  test('accounts have their settings and balances', async (copy) => {
    assert.equal(inOrder(list(await ask(copy, 'account', 'list'), 'accounts')), inOrder(copy.kept.accounts));
  });

  test('what needs a person is listed, with the analysis that has taken too long since', async (copy) => {
    // Items tell more now: accounts, amounts, codes.
    const known = new Set(copy.kept.attention.flatMap((before) => Object.keys(object(before))));
    const listed = list(await ask(copy, 'attention'), 'items');
    const items = listed
      .filter((item) => !isOfAnalysis(item))
      .map((item): Json => {
        return Object.fromEntries(Object.entries(object(item)).filter(([name]) => known.has(name)));
      });
    assert.equal(inOrder(items), inOrder(copy.kept.attention));
    const analyzed = Object.values(copy.kept.bodies).filter((body) => text(body, 'status') === 'in_analysis');
    assert.is(analyzed.length, 1);
    const late = analyzed.filter((body) => Date.now() - Date.parse(text(body, 'updatedAt')) > ANALYSIS_MS);
    assert.equal(
      listed.filter(isOfAnalysis).map((item) => text(item, 'id')),
      late.map((body) => text(body, 'id')),
    );
  });

  test('what goes on once it is served stands where it stood', async (copy) => {
    const moving = copy.kept.transactions.filter(({ moves }) => moves);
    assert.ok(moving.length > 10, `${moving.length} transactions`);
    await eachOf(moving, TOGETHER, async ({ id, story, deliveries }) => {
      const inspected = await ask(copy, 'inspect', id);
      assert.equal(at(inspected, 'transaction'), copy.kept.bodies[id], story);
      assert.equal(countDeliveries(list(inspected, 'deliveries')), deliveries, story);
    });
  });

  test('histories, snapshots, timers and deliveries are told whole', async (copy) => {
    const { inspected } = copy.kept;
    assert.ok(Object.keys(inspected).length >= 5);
    await eachOf(Object.entries(inspected), TOGETHER, async ([story, document]) => {
      const told = object(await ask(copy, 'inspect', keptOf(copy.kept, story).id));
      const before = list(document, 'entries');
      const entries = list(told, 'entries').map((entry, index) => asToldBefore(entry, before[index] ?? null));
      assert.equal({ ...told, entries }, document, story);
    });
  });
}

function takesCommands({ test }: FixtureSuite<Copy>): void {
  test('a charge that waits can be paid, and another one canceled', async (copy) => {
    const paid = keptOf(copy.kept, 'charge waiting, its payment of another amount given back');
    const data = JSON.stringify({ endToEndId, amount: 25_000, paidAt: new Date().toISOString() });
    const answer = await ask(copy, 'send', paid.id, 'PAY', '--id', 'a later payment', '--data', data);
    assert.is(at(answer, 'applied'), true);
    assert.is(at(answer, 'status'), 'paid');
    assert.is(at(answer, 'pix.endToEndId'), endToEndId);
    const canceled = keptOf(copy.kept, 'charge waiting, of the same long reference');
    assert.is(at(await ask(copy, 'send', canceled.id, 'CANCEL'), 'status'), 'canceled');
  });

  test('a stuck cashout is settled, and is no longer listed', async (copy) => {
    const { id } = keptOf(copy.kept, 'cashout processing, then silence');
    assert.ok((await attentionIds(copy, 'stuck')).includes(id));
    assert.is(at(await ask(copy, 'send', id, 'SETTLE'), 'status'), 'completed');
    assert.not.ok((await attentionIds(copy, 'stuck')).includes(id));
  });

  test('an adjustment that was applied is applied no more', async (copy) => {
    const { accountId } = keptMerchant(copy.kept, 'overdrawn');
    const adjust = (id: string) =>
      ask(copy, 'account', 'adjust', accountId, '150', '--id', id, '--reason', 'again');
    const again = await adjust('correction 1');
    assert.is(at(again, 'applied'), false);
    const other = await adjust('correction 3');
    assert.is(Number(at(other, 'balance')) - Number(at(again, 'balance')), 150);
  });

  test('what was added to the old journals is as sound', async ({ dataDir, env }) => {
    assert.is(at(await cliJson(dataDir, ['verify', '--decide'], env), 'ok'), true);
  });
}

/** A suite over a store that `open` restores. */
export function readsTheSame(name: string, open: () => Promise<Copy>): void {
  const suite = fixtureSuite(name, async (defer) => {
    const copy = await open();
    defer(copy.remove);
    return copy;
  });
  answersTheSame(suite);
  takesCommands(suite);
  suite.run();
}
