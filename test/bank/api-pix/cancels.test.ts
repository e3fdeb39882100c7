/** Cancels that the bank has carried out, and that nobody could book at once, or waited for any more. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Abandoned, Overloaded } from '../../../src/engine/actors/host.ts';
import { type Settlement, StoreUnavailable } from '../../../src/engine/store.ts';
import { expectRejection } from '../../support/expect.ts';
import { World } from './world.ts';

const test = suite('cancels at a bank');

async function withWorld(body: (world: World) => Promise<void>): Promise<void> {
  const world = await World.make();
  try {
    await body(world);
  } finally {
    await world.scene.end();
  }
}

function calls({ scene }: World, name: string): number {
  return scene.bank.calls(name).length;
}

test('one whose time is over once the bank was asked is made', async () => {
  await withWorld(async (world) => {
    const transaction = await world.charge();
    const abandoned = (): boolean => calls(world, 'PATCH cob') > 0;
    const { payments } = world.process;
    const answer = await payments.cancel(world.account, { transaction, reason: null }, { abandoned });
    assert.is(answer.kind, 'applied');
    assert.is(await world.status(transaction), 'canceled');
  });
});

test('one whose time is over before is dropped, and the bank hears nothing', async () => {
  await withWorld(async (world) => {
    const transaction = await world.charge();
    const { payments } = world.process;
    const order = { transaction, reason: null };
    await expectRejection(payments.cancel(world.account, order, { abandoned: () => true }), Abandoned);
    assert.is(calls(world, 'PATCH cob'), 0);
    assert.is(await world.status(transaction), 'waiting_payment');
  });
});

for (const error of [new Overloaded('full'), new StoreUnavailable('away')]) {
  for (const isPaid of [false, true]) {
    const state = isPaid ? 'paid' : 'canceled';
    test(`${error.constructor.name} after the bank was asked: it is asked again, and the charge is ${state}`, async () => {
      await withWorld(async (world) => {
        const transaction = await world.charge();
        if (isPaid) world.pay(transaction);
        const { engine, payments } = world.process;
        const send = engine.send;
        engine.send = () => Promise.reject(error);
        const order = { transaction, reason: null };
        await expectRejection(payments.cancel(world.account, order, {}), Object(error).constructor);
        engine.send = send;
        assert.is(await world.status(transaction), 'waiting_payment');
        await world.sweep();
        assert.is(await world.status(transaction), state);
      });
    });
  }
}

test('a charge that the bank has not canceled is asked about once, and waits', async () => {
  await withWorld(async (world) => {
    const transaction = await world.charge();
    world.scene.bank.fault('PATCH cob', { kind: 'answer', status: 422 });
    const { payments } = world.process;
    await payments.cancel(world.account, { transaction, reason: null }, {}).catch(() => {});
    const asked = calls(world, 'GET cob');
    for (let time = 0; time < 5; time += 1) await world.sweep();
    assert.is(calls(world, 'GET cob'), asked + 1);
    assert.is(await world.status(transaction), 'waiting_payment');
  });
});

test('the question that it leaves tells by which clock it comes later', async () => {
  await withWorld(async (world) => {
    const transaction = await world.charge();
    const { payments, store } = world.process;
    const { settle } = store.due;
    const asked: Settlement[] = [];
    store.due.settle = (settlements) => {
      asked.push(...settlements);
      return settle.call(store.due, settlements);
    };
    await payments.cancel(world.account, { transaction, reason: null }, {});
    assert.is(asked[0]?.clock, world.clock.ms);
  });
});

test.run();
