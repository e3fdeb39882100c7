/** Whose question about a charge is next where more wait than may be under way. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Places } from '../../../src/bank/api-pix/wire/places.ts';
import { turn } from '../../../src/waiting.ts';

const test = suite('places for questions');

/** All places are taken; who comes in later is told in `order`. */
async function full(most: number): Promise<{ order: string[]; places: Places; come(name: string): void }> {
  const places = new Places(most);
  for (let place = 0; place < most; place++) await places.acquire('early', false);
  const order: string[] = [];
  const come = (name: string): void => {
    const [account = ''] = name;
    void places.acquire(account, name.includes('hint')).then(() => order.push(name));
  };
  return { order, places, come };
}

async function release(places: Places, count: number): Promise<void> {
  for (let place = 0; place < count; place++) {
    places.release();
    await turn();
  }
}

test('a hint goes before all charges that expire, and theirs is every fourth turn beside more hints', async () => {
  const { order, places, come } = await full(2);
  for (const name of ['a1', 'a2', 'a3', 'b hint', 'c hint', 'b hint 2', 'c hint 2']) come(name);
  await release(places, 7);
  assert.equal(order, ['b hint', 'c hint', 'b hint 2', 'a1', 'c hint 2', 'a2', 'a3']);
});

test('accounts take turns among each kind', async () => {
  const { order, places, come } = await full(2);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) come(name);
  await release(places, 6);
  assert.equal(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  for (const name of ['a hint 1', 'a hint 2', 'a hint 3', 'b hint 1']) come(name);
  await release(places, 2);
  assert.equal(order.slice(6), ['a hint 1', 'b hint 1']);
});

test('a place that nobody waits for is free', async () => {
  const { order, places, come } = await full(2);
  await release(places, 2);
  for (const name of ['a1', 'a2', 'a3']) come(name);
  await turn();
  assert.equal(order, ['a1', 'a2']);
  await release(places, 1);
  assert.equal(order, ['a1', 'a2', 'a3']);
});

test.run();
