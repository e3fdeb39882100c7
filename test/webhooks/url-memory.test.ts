/** What a process remembers of URLs: their last attempts, the worst first, and no more than it may. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeliveryStatus } from '../../src/engine/store/deliveries.ts';
import { newDelivery } from '../../src/webhooks/delivery.ts';
import { UrlMemory } from '../../src/webhooks/url-memory.ts';

const test = suite('url memory');

function opened() {
  const clock = { ms: 1_800_000_000_000 };
  const memory = new UrlMemory(() => clock.ms);
  const attempted = (url: string, status: DeliveryStatus, id = 'd', ms = 10, account = 'acc_a'): void => {
    clock.ms += 1_000;
    memory.attempted({ account, url }, { ...newDelivery(id, account, 't'), status }, ms);
  };
  return { clock, memory, attempted };
}

test('it keeps the last 36 attempts of a URL, oldest first, with the times that they took', () => {
  const { memory, attempted, clock } = opened();
  for (let nth = 1; nth <= 40; nth++) attempted('u', nth === 40 ? 'rejected' : 'delivered', 'd', nth);
  const { urls, others } = memory.worst(null);
  assert.is(others, 0);
  const [health] = urls;
  assert.equal(health?.recent, [...Array.from({ length: 35 }, () => true), false]);
  // Those of 5 to 40 ms are left.
  assert.is(health?.p50, 22);
  assert.is(health?.p95, 39);
  assert.is(health?.failing, 1);
  assert.is(health?.lastAt, new Date(clock.ms).toISOString());
});

test('a delivery counts as retrying until another attempt ends it', () => {
  const { memory, attempted } = opened();
  const retrying = () => memory.worst(null).urls[0]?.retrying;
  attempted('u', 'retrying', 'd1', 0);
  attempted('u', 'retrying', 'd2', 0);
  attempted('u', 'retrying', 'd1', 0);
  assert.is(retrying(), 2);
  assert.is(memory.worst(null).urls[0]?.failing, 3);
  attempted('u', 'delivered', 'd1');
  assert.is(retrying(), 1);
  assert.is(memory.worst(null).urls[0]?.failing, 0);
  attempted('u', 'dead', 'd2');
  assert.is(retrying(), 0);
});

test('of more than 36 that wait to be tried again it says that more may wait, until none does', () => {
  const { memory, attempted } = opened();
  const waiting = () => {
    const [health] = memory.worst(null).urls;
    return [health?.retrying, health?.moreRetrying];
  };
  for (let nth = 0; nth < 36; nth++) attempted('u', 'retrying', `d${nth}`);
  attempted('u', 'retrying', 'd0');
  assert.equal(waiting(), [36, false]);
  attempted('u', 'retrying', 'd36');
  assert.equal(waiting(), [36, true]);
  attempted('u', 'delivered', 'd0');
  assert.equal(waiting(), [35, true]);
  // What had no place is counted once it is attempted again.
  attempted('u', 'retrying', 'd36');
  assert.equal(waiting(), [36, true]);
  for (let nth = 1; nth <= 36; nth++) attempted('u', 'delivered', `d${nth}`);
  assert.equal(waiting(), [0, false]);
});

test('the worst are first, those of one account alone where it is named, and a hundred at the most', () => {
  const { memory, attempted } = opened();
  for (let nth = 0; nth < 150; nth++) attempted(`good ${nth}`, 'delivered');
  attempted('bad', 'retrying');
  attempted('bad', 'retrying');
  attempted('worse', 'dead', 'd', 10, 'acc_b');
  for (let nth = 0; nth < 5; nth++) attempted('worse', 'dead', 'd', 10, 'acc_b');
  attempted('good 7', 'delivered');
  const { urls, others } = memory.worst(null);
  assert.equal(
    urls.slice(0, 4).map(({ url }) => url),
    ['worse', 'bad', 'good 7', 'good 149'],
  );
  assert.equal([urls.length, others], [100, 52]);
  assert.equal(
    memory.worst('acc_b').urls.map(({ url }) => url),
    ['worse'],
  );
  assert.equal(memory.worst('acc_c').urls, []);
});

test('of more than 5,000 the one that was left alone longest is forgotten', () => {
  const { memory, attempted } = opened();
  for (let nth = 0; nth < 5_000; nth++)
    attempted(`u${nth}`, 'delivered', 'd', 10, nth < 2 ? 'acc_b' : 'acc_a');
  attempted('u0', 'delivered', 'd', 10, 'acc_b');
  attempted('new', 'delivered');
  assert.equal(
    memory.worst('acc_b').urls.map(({ url }) => url),
    ['u0'],
  );
  const { urls, others } = memory.worst(null);
  assert.is(urls.length + others, 5_000);
});

test.run();
