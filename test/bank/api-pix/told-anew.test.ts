/** What ops were done with once hides nothing that comes later, on a clock that the test sets. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/bank/api-pix/reconciling/windows.ts';
import { itemOf } from '../../../src/engine/store.ts';
import type { FakeBank } from '../../support/bank/bank.ts';
import type { Fields } from '../../support/bank/requests.ts';
import { World } from './world.ts';

const test = suite('what ops are told anew');

function eachOf(name: string, change: (item: Fields) => Fields): (body: Fields) => Fields {
  return (body) => ({ ...body, [name]: ((body[name] ?? []) as Fields[]).map(change) });
}

/** All that the bank says of payments can't be read in one way. */
function spoil(bank: FakeBank, change: (payment: Fields) => Fields): void {
  const always = 1_000;
  for (const call of ['GET cob', 'LIST pix'])
    bank.fault(call, { kind: 'changed', change: eachOf('pix', change) }, always);
  bank.fault('GET pix', { kind: 'changed', change }, always);
}

async function withWorld(
  options: Parameters<typeof World.make>,
  work: (world: World) => Promise<void>,
): Promise<void> {
  const world = await World.make(...options);
  try {
    await work(world);
  } finally {
    await world.scene.end();
  }
}

test('a second payment of a charge that can’t be read is an item of its own, until it can', async () => {
  await withWorld([], async (world) => {
    const { bank } = world.scene;
    const id = await world.charge();
    spoil(bank, (payment) => ({ ...payment, horario: '30/11/2026 10:00' }));
    const { endToEndId } = world.pay(id);
    await world.ask(id);
    assert.equal(await world.codes(), ['CHARGE_PAYMENT_UNREADABLE']);
    const paidAt = new Date().toISOString();
    assert.is(await world.tell(id, 'PAY', { endToEndId, amount: 10_000, paidAt }), 'applied');
    await world.done();
    const second = world.pay(id);
    await world.ask(id);
    const told = (await world.items()).map(({ code, data }) => ({ code, ...data }));
    const unread = "its time can't be read";
    assert.equal(told, [{ code: 'CHARGE_PAYMENT_UNREADABLE', endToEndId: second.endToEndId, unread }]);
    bank.clearFaults();
    await world.ask(id);
    assert.not.ok((await world.codes()).includes('CHARGE_PAYMENT_UNREADABLE'), 'it can be read');
    await world.sweep();
    assert.is(second.returns.length, 1, 'it goes back');
  });
});

test('so is another return of a payment that can’t be read, and what goes is what can be', async () => {
  await withWorld([], async (world) => {
    const { bank } = world.scene;
    const { id, payment } = await world.paid();
    const broken = new Set<unknown>(['M1', 'M2']);
    const spoilt = (each: Fields): Fields => (broken.has(each.id) ? { ...each, valor: '20,00' } : each);
    spoil(bank, eachOf('devolucoes', spoilt));
    const takeBack = async (name: string): Promise<void> => {
      const taken = { id: name, rtrId: `D${name}`, valor: '20.00', natureza: 'MED_FRAUDE' };
      payment.returns.push({ ...taken, status: 'DEVOLVIDO', at: Date.now() });
      await world.ask(id);
    };
    const told = async (): Promise<unknown[]> =>
      (await world.items()).map(({ data }) => (data as { unread?: unknown }).unread);
    await takeBack('M1');
    assert.equal(await told(), ["one of its returns can't be read (M1)"]);
    await world.done();
    await takeBack('M2');
    assert.equal(await told(), ["one of its returns can't be read (M1, M2)"]);
    broken.delete('M1');
    await world.ask(id);
    assert.equal(await told(), ["one of its returns can't be read (M2)"]);
    broken.delete('M2');
    await world.ask(id);
    assert.equal(await told(), []);
  });
});

test('an item of a former build, of all payments of a charge, goes as it did', async () => {
  await withWorld([], async (world) => {
    const id = await world.charge();
    const former = { id: `bank_${id.replaceAll('-', '')}`, code: null, data: null, what: 'w', next: 'n' };
    const about = { account: world.account.id, transaction: id, delivery: null, url: null };
    const since = new Date(world.clock.ms).toISOString();
    await world.process.engine.note([{ kind: 'invalid', ...former, since, amount: 1, about }]);
    await world.ask(id);
    assert.equal(await world.items(), []);
  });
});

test('transfers that can’t be read are told of one by one', async () => {
  await withWorld([{ profile: 'efi' }, 1_000_000], async (world) => {
    const { bank } = world.scene;
    const change = eachOf('pix', ({ status: _status, ...transfer }) => transfer);
    bank.fault('LIST envio', { kind: 'changed', change }, 1_000);
    const listed = async (): Promise<unknown[]> =>
      (await world.items())
        .filter(({ code }) => code === 'TRANSFER_UNREADABLE')
        .map(({ data }) => (data as { listed?: unknown }).listed);
    const ids = (): string[] => [...bank.state.sendings.values()].map(({ endToEndId }) => endToEndId);
    await world.transfer();
    await world.sweep(10_000);
    await world.reconciler.run();
    assert.equal(await listed(), ids());
    await world.done();
    await world.transfer();
    await world.transfer();
    await world.sweep(DAY_MS);
    await world.reconciler.run();
    assert.equal((await listed()).sort(), ids().slice(1));
  });
});

test('each return of a kind that nobody knows is told of, and what ops have booked isn’t', async () => {
  await withWorld([], async (world) => {
    const { bank } = world.scene;
    const { id, payment } = await world.paid();
    const takeBack = (name: string, valor: string): string => {
      const rtrId = bank.state.id('D', Date.now());
      const at = Date.now();
      const taken = { id: name, rtrId, valor, natureza: 'NOVA_COISA', at, settledAt: at };
      payment.returns.push({ ...taken, status: 'DEVOLVIDO' });
      return rtrId;
    };
    const told = async (laterMs: number): Promise<unknown[]> => {
      await world.sweep(laterMs);
      await world.reconciler.run();
      return (await world.items()).map(({ code, data }) => [code, (data as { returnId?: unknown }).returnId]);
    };
    const former = { kind: 'difference', id: `differs_${payment.endToEndId}`, what: 'w', next: 'n' } as const;
    await world.process.engine.note([itemOf(former, new Date(world.clock.ms).toISOString())]);
    takeBack('n1', '10.00');
    assert.equal(await told(10_000), [['RETURN_UNBOOKED', 'n1']], 'and the former build’s item went');
    assert.is(await world.tell(id, 'CHARGEBACK', { amount: 1_000 }), 'applied');
    await world.done();
    takeBack('n2', '20.00');
    takeBack('n3', '30.00');
    assert.equal(
      (await told(DAY_MS)).sort(),
      ['n2', 'n3'].map((name) => ['RETURN_UNBOOKED', name]),
    );
    await world.done();
    const returnId = takeBack('n4', '5.00');
    assert.is(await world.tell(id, 'REFUND', { amount: 500, returnId }), 'applied');
    assert.equal(await told(7 * DAY_MS), []);
  });
});

test.run();
