/** Refunds that wait for the bank too long: each by itself, whatever its charge goes through meanwhile. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Core } from '../../src/core.ts';
import { refundOf } from '../../src/domain/reversals/sums.ts';
import { attentionPage, dismissAttention } from '../../src/engine/attention/list.ts';
import { Watch } from '../../src/jobs/watch.ts';
import { pause } from '../../src/waiting.ts';
import { close, createCharge, openOn, tell } from '../audit/scene.ts';

const s = suite('stuck refunds');

const STUCK_AFTER_MS = 600_000;

/** A paid charge; `order` orders a refund of it that stays pending, and gives its id and when that was. */
async function scene(core: Core) {
  const parts = {
    ...{ fees: null, expiresIn: null, maxAmount: null, pixKey: null, merchantName: null, merchantCity: null },
    ...{ name: 'x', webhooks: [], allowedIps: ['*'] },
  };
  const { accountId } = await core.accounts.create(parts);
  const owner = await core.store.accounts.get(accountId);
  assert.ok(owner !== null);
  const charge = await createCharge(core, accountId, 10_000, null);
  assert.is(await tell(core, charge, 'PAY'), 'applied');
  const order = async (): Promise<{ id: string; at: number }> => {
    // The time of each is its own.
    await pause(20);
    const request = { transaction: charge, amount: 106, reason: null, idempotencyKey: null };
    const { refundId: id } = await core.payments.refund(owner, request, {});
    const record = await core.store.journal.transaction(charge);
    const refund = record?.type === 'pix-in' ? refundOf(record.snapshot.context, id) : undefined;
    assert.is(refund?.status, 'pending');
    return { id, at: Date.parse(refund?.createdAt ?? '') };
  };
  return { charge, order };
}

s('a refund is stuck once it is old enough, though its charge changes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-stuck-'));
  const core = await openOn({ DATA_DIR: folder, LOG_LEVEL: 'silent' });
  const { store, engine } = core;
  const rule = { now: 0, stuckAfterMs: STUCK_AFTER_MS, says: () => null };
  const watch = new Watch({ ...rule, engine, store, now: () => rule.now });
  const listed = async (): Promise<string[]> =>
    (await attentionPage(store, rule, {}, null, 100)).items.map(({ id }) => id);
  const noted = async (): Promise<string[]> =>
    (await store.attention.page({ kind: 'stuck' }, null, 100)).map(({ id }) => id);
  const look = async (): Promise<void> => {
    await watch.look();
    await watch.review();
  };
  try {
    const { charge, order } = await scene(core);
    const [first, second, third] = [await order(), await order(), await order()];
    rule.now = second.at + STUCK_AFTER_MS;
    assert.equal(await listed(), [first.id]);
    await look();
    assert.equal(await noted(), [first.id]);
    rule.now = third.at + STUCK_AFTER_MS + 1;
    assert.equal(await listed(), [first.id, second.id, third.id]);
    await look();
    assert.equal((await noted()).sort(), [first.id, second.id, third.id].sort());
    const { items } = await attentionPage(store, rule, {}, null, 100);
    assert.equal(
      items.map(({ since }) => Date.parse(since)),
      [first.at, second.at, third.at],
    );
    await dismissAttention(
      store,
      items.filter(({ id }) => id === first.id),
      { name: 'x', reason: null, role: 'operator', at: '2026-01-05T12:00:00.000Z' },
    );
    // Neither a further refund, nor the end of another one, changes what is told of these.
    await order();
    assert.equal(await listed(), [second.id, third.id]);
    assert.is(await tell(core, charge, 'REFUND_DONE', { refundId: second.id }), 'applied');
    await look();
    assert.equal(await listed(), [third.id]);
    assert.equal(await noted(), [third.id]);
  } finally {
    await close(core);
    await rm(folder, { recursive: true });
  }
});

s.run();
