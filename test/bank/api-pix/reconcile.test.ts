/** Reconciliation's own turns, day by day and week by week, on a clock that the test sets. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS } from '../../../src/bank/api-pix/reconciling/windows.ts';
import { itemFor } from '../../../src/engine/attention/item.ts';
import type { AttentionItem } from '../../../src/engine/store.ts';
import { stored } from '../../faults/in-process.ts';
import { OUR_KEY, type Seen } from '../../support/bank/bank.ts';
import type { Fields } from '../../support/bank/requests.ts';
import { SCALE, World } from './world.ts';

const test = suite('reconciliation');

test('once a day what the journal has and the bank doesn’t list is an item', async () => {
  const world = await World.make();
  try {
    const { payment } = await world.paid();
    await world.sweep(10_000);
    await world.reconciler.run();
    assert.equal(await world.codes(), []);
    world.scene.bank.state.payments.delete(payment.endToEndId);
    world.clock.ms += DAY_MS / 2;
    await world.reconciler.run();
    assert.equal(await world.codes(), [], 'not before a day is over');
    world.clock.ms += DAY_MS / 2;
    await world.reconciler.run();
    assert.equal(await world.codes(), ['BOOKING_UNLISTED']);
  } finally {
    await world.scene.end();
  }
});

/** A transfer that was settled a minute after its order, and the moment at which that is two days and half a minute ago. */
async function settledLate(world: World): Promise<{ id: string; daysLater: number }> {
  const id = await world.transfer();
  const [sending] = world.scene.bank.state.sendings.values();
  if (sending === undefined) throw new Error('the bank knows no transfer');
  Object.assign(sending, { status: 'REALIZADO', settledAt: sending.at + 60_000 });
  world.clock.ms = sending.at + 61_000;
  await world.ask(id);
  assert.is(await world.status(id), 'completed');
  return { id, daysLater: sending.at + 2 * DAY_MS + 30_000 };
}

test('a transfer that was ordered before the days that are listed, and settled in them, is no item', async () => {
  const world = await World.make({ profile: 'efi' }, 1_000_000);
  try {
    const { daysLater } = await settledLate(world);
    await world.reconciler.run();
    world.clock.ms = daysLater;
    await world.reconciler.run();
    assert.equal(await world.codes(), []);
  } finally {
    await world.scene.end();
  }
});

test('where the bank denies it, it is one, until the bank tells of it', async () => {
  const world = await World.make({ profile: 'efi' }, 1_000_000);
  const { bank } = world.scene;
  try {
    const { daysLater } = await settledLate(world);
    const body = '{"nome":"pix_nao_encontrado","type":"x/PixEnviadoNaoEncontrado","title":"t","detail":"d"}';
    bank.fault('GET envio', { kind: 'answer', status: 404, body }, 1_000);
    world.clock.ms = daysLater;
    await world.reconciler.run();
    world.clock.ms += DAY_MS;
    await world.reconciler.run();
    assert.equal(await world.codes(), ['BOOKING_UNLISTED']);
    bank.clearFaults();
    world.clock.ms += DAY_MS;
    await world.reconciler.run();
    assert.equal(await world.codes(), []);
  } finally {
    await world.scene.end();
  }
});

test('a payment that the bank lists again is no item any more', async () => {
  const world = await World.make();
  const { payments } = world.scene.bank.state;
  try {
    const { payment } = await world.paid();
    payments.delete(payment.endToEndId);
    await world.sweep(10_000);
    await world.reconciler.run();
    assert.equal(await world.codes(), ['BOOKING_UNLISTED']);
    payments.set(payment.endToEndId, payment);
    await world.sweep(DAY_MS);
    await world.reconciler.run();
    assert.equal(await world.codes(), []);
  } finally {
    await world.scene.end();
  }
});

test('once a week a return of an old payment is found, and asked about', async () => {
  const world = await World.make();
  try {
    const { id, payment } = await world.paid(Date.now() - 80 * DAY_MS);
    await world.sweep(10_000);
    await world.reconciler.run();
    const taken = { id: 'M1', rtrId: 'D1', valor: '100.00', natureza: 'MED_FRAUDE', at: Date.now() };
    payment.returns.push({ ...taken, status: 'DEVOLVIDO' });
    for (let day = 1; day < 7; day += 1) {
      await world.sweep(DAY_MS);
      await world.reconciler.run();
    }
    await world.sweep();
    assert.is(await world.status(id), 'paid');
    await world.sweep(DAY_MS);
    await world.reconciler.run();
    await world.sweep();
    assert.is(await world.status(id), 'chargedback');
  } finally {
    await world.scene.end();
  }
});

/** Which list a call asks for: that of returns, and since when. */
function asked({ query }: Pick<Seen, 'query'>): { ofReturns: boolean; from: number } {
  const parameters = new URLSearchParams(query);
  const from = Date.parse(parameters.get('inicio') ?? '');
  return { ofReturns: parameters.get('devolucaoPresente') === 'true', from };
}

test('a weekly look that failed goes on where it was', async () => {
  const world = await World.make();
  const { bank } = world.scene;
  const weekly = () =>
    bank
      .calls('LIST pix')
      .map(asked)
      .filter(({ ofReturns }) => ofReturns);
  try {
    await world.paid();
    await world.sweep(10_000);
    let answered = 0;
    const fail = (body: Fields): Fields => {
      answered += 1;
      return answered > 40 ? { mensagem: 'Sistema em manutenção' } : body;
    };
    bank.fault('LIST pix', { kind: 'changed', change: fail }, 10_000);
    await world.reconciler.run().then(
      () => assert.unreachable('the list can’t be read'),
      () => {},
    );
    const failed = weekly();
    bank.clearFaults();
    await world.reconciler.run();
    const [next] = weekly().slice(failed.length);
    assert.ok(failed.length > 10, `${failed.length} windows`);
    assert.is(next?.from, failed.at(-1)?.from, 'the window that failed is read again');
    assert.ok(weekly().length < 110, `${weekly().length} calls for 91 windows`);
    // A week later it begins anew.
    const before = weekly().length;
    await world.sweep(7 * DAY_MS);
    await world.reconciler.run();
    assert.is((weekly()[before]?.from ?? 0) < (failed[0]?.from ?? 0) + 8 * DAY_MS, true);
  } finally {
    await world.scene.end();
  }
});

test('what is new is read while a look at weeks is under way', async () => {
  const world = await World.make();
  const { bank } = world.scene;
  try {
    await world.paid();
    await world.sweep(10_000);
    // A bank whose every answer takes ten seconds.
    const slow = (body: Fields): Fields => {
      world.clock.ms += 10_000;
      return body;
    };
    bank.fault('LIST pix', { kind: 'changed', change: slow }, 10_000);
    await world.reconciler.run();
    const calls = bank.calls('LIST pix').map(asked);
    const [first, last] = [calls.findIndex(({ ofReturns }) => ofReturns), calls.length - 1];
    const between = calls.slice(first, last).filter(({ ofReturns }) => !ofReturns);
    assert.ok(between.length >= 10, `${between.length} of ${calls.length}`);
  } finally {
    await world.scene.end();
  }
});

test('what the bank lists for a day and denies when asked is an item, until it is booked', async () => {
  const world = await World.make();
  const { bank } = world.scene;
  try {
    const { id, payment } = await world.paid(Date.now());
    const [taken, at] = [{ id: 'M1', rtrId: 'D1', valor: '100.00', natureza: 'ORIGINAL' }, Date.now()];
    payment.returns.push({ ...taken, at, settledAt: at, status: 'DEVOLVIDO' });
    const deny = (body: Fields): Fields => ({ ...body, pix: [], devolucoes: [] });
    for (const call of ['GET cob', 'GET pix']) bank.fault(call, { kind: 'changed', change: deny }, 1_000);
    await world.sweep(10_000);
    await world.reconciler.run();
    await world.sweep();
    assert.equal([await world.status(id), await world.codes()], ['paid', []], 'banks may be slow');
    await world.sweep(DAY_MS + HOUR_MS);
    await world.reconciler.run();
    assert.equal(await world.codes(), ['LISTING_UNBOOKED']);
    await world.reconciler.run();
    assert.equal(await world.codes(), ['LISTING_UNBOOKED'], 'it holds');
    bank.clearFaults();
    await world.sweep(DAY_MS);
    await world.reconciler.run();
    await world.sweep();
    assert.is(await world.status(id), 'refunded');
    await world.reconciler.run();
    assert.equal(await world.codes(), []);
  } finally {
    await world.scene.end();
  }
});

test('so it is where a thousand other differences stand before it', async () => {
  const world = await World.make();
  const { bank } = world.scene;
  try {
    const { id, payment } = await world.paid();
    const since = new Date(world.clock.ms - DAY_MS).toISOString();
    const others = Array.from({ length: 1_000 }, (_, n) =>
      itemFor('TRANSFER_UNEXPLAINED', { id: `sent_${n}`, since, data: { listed: `${n}` } }),
    );
    await world.process.engine.note(others);
    const [taken, at] = [{ id: 'M1', rtrId: 'D1', valor: '100.00', natureza: 'MED_FRAUDE' }, Date.now()];
    payment.returns.push({ ...taken, at, settledAt: at, status: 'DEVOLVIDO' });
    const deny = (body: Fields): Fields => ({ ...body, pix: [], devolucoes: [] });
    for (const call of ['GET cob', 'GET pix']) bank.fault(call, { kind: 'changed', change: deny }, 1_000);
    const unbooked = (): Promise<AttentionItem[]> =>
      world.process.store.attention.page({ transaction: id }, null, 10);
    await world.sweep(DAY_MS + HOUR_MS);
    await world.reconciler.run();
    assert.is((await unbooked()).length, 1);
    // The list shows it no more, and questions that find nothing have ended.
    await world.sweep(DAY_MS);
    await world.reconciler.run();
    for (let more = 0; more < 4; more += 1) await world.sweep(10_000);
    bank.clearFaults();
    await world.sweep(DAY_MS);
    await world.reconciler.run();
    await world.sweep();
    assert.is(await world.status(id), 'chargedback');
    await world.reconciler.run();
    assert.equal(await unbooked(), []);
  } finally {
    await world.scene.end();
  }
});

test('a return that ops booked by hand, as its item says, is not booked again once the bank names its nature', async () => {
  const world = await World.make();
  try {
    const { id, payment } = await world.paid();
    const [taken, at] = [{ id: 'N1', rtrId: 'D1', valor: '20.00', natureza: 'NOVA_COISA' }, Date.now()];
    const back = { ...taken, at, settledAt: at, status: 'DEVOLVIDO' as const };
    payment.returns.push(back);
    await world.sweep(10_000);
    await world.reconciler.run();
    const [item] = await world.process.store.attention.page({}, null, 100);
    assert.match(item?.next ?? '', '"returnId":"D1"');
    const before = await world.balances();
    const byHand = { id: 'by-hand', type: 'CHARGEBACK', data: { amount: 2_000, returnId: 'D1' } };
    const record = await stored(world.process, id);
    assert.is((await world.process.payments.tell(record, byHand, 'ops')).kind, 'applied');
    const booked = await world.balances();
    assert.is(booked.bank - before.bank, 2_000);
    await world.process.store.attention.dismiss([{ kind: 'difference', id: item?.id ?? '' }]);
    back.natureza = 'MED_FRAUDE';
    for (let day = 0; day < 3; day += 1) {
      await world.sweep(DAY_MS);
      await world.reconciler.run();
      await world.sweep();
    }
    assert.equal(await world.balances(), booked);
    assert.equal(await world.codes(), [], 'nor is it looked for ever after');
  } finally {
    await world.scene.end();
  }
});

/** What an earlier turn noted of a return that the bank listed, and denied when it was asked. */
async function noteListed(
  world: World,
  transaction: string,
  listed: { endToEndId: string; message: string },
): Promise<void> {
  const since = new Date(world.clock.ms).toISOString();
  const about = { account: world.account.id, transaction };
  const data = { type: 'pix-in', listed: 'return', ...listed } as const;
  await world.process.engine.note([itemFor('LISTING_UNBOOKED', { id: 'unbooked_1', since, about, data })]);
}

test('a refund that ops ended by hand as the bank lists it is booked, and one that the bank did by no other id', async () => {
  const world = await World.make();
  try {
    const { id, payment } = await world.paid();
    const order = { transaction: id, amount: 2_000, reason: null, idempotencyKey: null };
    for (const takenBack of [false, true]) {
      const { refundId, answer } = await world.process.payments.refund(world.account, order, {});
      assert.is(answer.kind, 'applied');
      await world.sweep();
      const made = payment.returns.at(-1);
      if (made === undefined) throw new Error('nothing was ordered at the bank');
      const returnId = made.rtrId;
      const { endToEndId } = payment;
      if (!takenBack)
        await noteListed(world, id, { endToEndId, message: `dev:${endToEndId}:${made.id}:REFUND_DONE` });
      // Ops read of it in the bank's app, and take it for the bank's own, or for what it is.
      if (takenBack) assert.is(await world.tell(id, 'REFUND', { amount: 2_000, returnId }), 'applied');
      const end = takenBack ? 'REFUND_FAILED' : 'REFUND_DONE';
      const said = takenBack ? { refundId } : { refundId, returnId };
      assert.is(await world.tell(id, end, said), 'applied');
      Object.assign(made, { status: 'DEVOLVIDO', settledAt: Date.now() });
      const booked = await world.balances();
      for (let day = 0; day < 3; day += 1) {
        await world.sweep(DAY_MS);
        await world.reconciler.run();
        await world.sweep();
      }
      assert.equal(await world.balances(), booked);
      assert.equal(await world.codes(), []);
      const calls = world.scene.bank.calls('GET cob').length;
      await world.sweep(7 * DAY_MS);
      await world.reconciler.run();
      await world.sweep();
      assert.is(world.scene.bank.calls('GET cob').length, calls, 'nobody asks about it');
    }
  } finally {
    await world.scene.end();
  }
});

test('of questions about one payment that can’t be asked one waits, however often the list tells of it', async () => {
  const world = await World.make();
  const { bank } = world.scene;
  const waiting = async (): Promise<number> => {
    const { due } = world.process.store;
    const claims = await due.claim('bank', world.clock.ms + DAY_MS, 100);
    await due.settle(claims.map((claim) => ({ claim, next: claim.due })));
    return claims.length;
  };
  try {
    const id = await world.charge();
    bank.fault('GET cob', { kind: 'answer', status: 403, body: '{"title":"no","detail":"no"}' }, 10_000);
    bank.state.pay({ txid: id.replaceAll('-', ''), amount: '100.00', key: OUR_KEY });
    for (let turn = 1; turn <= 12; turn += 1) {
      await world.sweep(300_000);
      await world.reconciler.run();
      await world.sweep(1);
      assert.is(await waiting(), 1, `after ${turn} turns`);
    }
    bank.clearFaults();
    const before = bank.calls('GET cob').length;
    for (let minute = 0; minute < 60; minute += 1) await world.sweep(60_000);
    assert.is(await world.status(id), 'paid');
    assert.ok(
      bank.calls('GET cob').length - before <= 8,
      `${bank.calls('GET cob').length - before} questions`,
    );
    assert.is(await waiting(), 0);
  } finally {
    await world.scene.end();
  }
});

test('what was refused here is no item of the list’s as well', async () => {
  const world = await World.make();
  try {
    const { id, payment } = await world.paid();
    const [taken, at] = [{ id: 'M1', rtrId: 'D1', valor: '100.01', natureza: 'MED_FRAUDE' }, Date.now()];
    payment.returns.push({ ...taken, at, settledAt: at, status: 'DEVOLVIDO' });
    await world.sweep(10_000);
    for (const laterMs of [1_000, DAY_MS + HOUR_MS]) {
      await world.reconciler.run();
      await world.sweep(laterMs);
      await world.sweep();
    }
    await world.reconciler.run();
    assert.equal([await world.status(id), await world.codes()], ['paid', ['MESSAGE_REFUSED']]);
  } finally {
    await world.scene.end();
  }
});

test('lists that can’t be read for an hour are an item, until they can', async () => {
  const world = await World.make();
  const { bank } = world.scene;
  const fails = async (): Promise<void> => {
    await world.sweep((HOUR_MS * SCALE) / 4);
    await world.reconciler.run().then(
      () => assert.unreachable('the list can’t be read'),
      () => {},
    );
  };
  try {
    await world.paid();
    bank.fault('LIST pix', { kind: 'answer', status: 400, body: '{"title":"no such list"}' }, 1_000);
    for (let turn = 0; turn < 4; turn += 1) await fails();
    assert.equal(await world.codes(), []);
    await fails();
    assert.equal(await world.codes(), ['BANK_LISTS']);
    bank.clearFaults();
    await world.reconciler.run();
    assert.equal(await world.codes(), []);
  } finally {
    await world.scene.end();
  }
});

test('what the bank lists and nobody told of is asked about in the next turn', async () => {
  const world = await World.make();
  try {
    const { id } = await world.paid();
    const txid = id.replaceAll('-', '');
    const second = world.scene.bank.state.pay({ txid, amount: '100.00', key: OUR_KEY });
    await world.sweep(10_000);
    await world.reconciler.run();
    await world.sweep();
    await world.sweep();
    assert.is(second.returns.length, 1, 'it goes back');
    assert.is(await world.status(id), 'paid');
  } finally {
    await world.scene.end();
  }
});

test.run();
