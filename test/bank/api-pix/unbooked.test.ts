/** What the bank lists and denies when it is asked: its item goes once it was handled, whichever way. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS } from '../../../src/bank/api-pix/reconciling/windows.ts';
import type { Fields } from '../../support/bank/requests.ts';
import type { FakePayment } from '../../support/bank/state.ts';
import { World } from './world.ts';

const test = suite('what the bank lists and isn’t booked');
const ALWAYS = 1_000;

async function withWorld(work: (world: World) => Promise<void>): Promise<void> {
  const world = await World.make();
  try {
    await work(world);
  } finally {
    await world.scene.end();
  }
}

/** The bank tells of no payments, but in its lists. */
function deny({ scene: { bank } }: World): void {
  const change = (body: Fields): Fields => ({ ...body, status: 'ATIVA', pix: [] });
  bank.fault('GET cob', { kind: 'changed', change }, ALWAYS);
  const body = '{"type":"x/PixNaoEncontrado","title":"t","status":404,"detail":"d"}';
  bank.fault('GET pix', { kind: 'answer', status: 404, body }, ALWAYS);
}

function takeBack(payment: FakePayment, valor: string, natureza: string): FakePayment['returns'][number] {
  const at = Date.now();
  const taken = { id: 'M1', rtrId: 'D1', valor, natureza, at, settledAt: at, status: 'DEVOLVIDO' as const };
  payment.returns.push(taken);
  return taken;
}

/** The bank's list is read for more than a day, and questions find nothing. */
async function listed(world: World): Promise<void> {
  await world.sweep(10_000);
  await world.reconciler.run();
  await world.sweep();
  await world.sweep(DAY_MS + HOUR_MS);
  await world.reconciler.run();
  for (let more = 0; more < 4; more += 1) await world.sweep(10_000);
}

/** Whether the item is there after a turn that reads no day. */
async function unbooked(world: World): Promise<boolean> {
  await world.reconciler.run();
  return (await world.codes()).includes('LISTING_UNBOOKED');
}

test('it goes once the payment was given back', async () => {
  await withWorld(async (world) => {
    const { bank } = world.scene;
    const id = await world.charge();
    deny(world);
    const payment = world.pay(id);
    await listed(world);
    assert.is(await world.status(id), 'expired');
    assert.is(await unbooked(world), true);
    bank.clearFaults();
    await world.ask(id);
    for (let more = 0; more < 4; more += 1) await world.sweep(10_000);
    assert.is(payment.returns.length, 1);
    assert.is(await unbooked(world), false);
    const asked = bank.calls('GET cob').length;
    await world.sweep(DAY_MS);
    assert.is(await unbooked(world), false);
    await world.sweep();
    assert.is(bank.calls('GET cob').length, asked, 'nobody asks any more');
  });
});

test('it goes once ops have said what was paid, and nothing tells of it again', async () => {
  await withWorld(async (world) => {
    const id = await world.charge();
    deny(world);
    const { endToEndId, at } = world.pay(id);
    await listed(world);
    assert.is(await unbooked(world), true);
    const paidAt = new Date(at).toISOString();
    await world.tell(id, 'PAY', { endToEndId, amount: 10_000, paidAt });
    assert.is(await unbooked(world), false);
    world.scene.bank.clearFaults();
    await world.sweep(DAY_MS - 2 * HOUR_MS);
    assert.is(await unbooked(world), false);
  });
});

test('what ops have said was paid is no item, though the bank says nothing of it', async () => {
  await withWorld(async (world) => {
    const id = await world.charge();
    deny(world);
    const { endToEndId, at } = world.pay(id);
    const paidAt = new Date(at).toISOString();
    assert.is(await world.tell(id, 'PAY', { endToEndId, amount: 10_000, paidAt }), 'applied');
    await listed(world);
    assert.equal(await world.codes(), []);
  });
});

test('it goes once the return was booked as what the bank calls it by then', async () => {
  await withWorld(async (world) => {
    const { id, payment } = await world.paid();
    deny(world);
    const taken = takeBack(payment, '100.00', 'ORIGINAL');
    await listed(world);
    assert.is(await unbooked(world), true);
    taken.natureza = 'MED_FRAUDE';
    world.scene.bank.clearFaults();
    await world.ask(id);
    assert.is(await world.status(id), 'chargedback');
    assert.is(await unbooked(world), false);
  });
});

test('it goes once the bank has told of it, and was refused', async () => {
  await withWorld(async (world) => {
    const { id, payment } = await world.paid();
    deny(world);
    takeBack(payment, '100.01', 'MED_FRAUDE');
    await listed(world);
    assert.is(await unbooked(world), true);
    world.scene.bank.clearFaults();
    await world.ask(id);
    assert.ok((await world.codes()).includes('MESSAGE_REFUSED'));
    assert.is(await unbooked(world), false);
  });
});

test.run();
