/** Accounts that several processes write to: who was first waits, and who never is says so. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SharedAccounts } from '../../../src/store/mongo/appends/contention.ts';
import { turn } from '../../../src/waiting.ts';

const s = suite('shared accounts');

/** Whether the next batch of an account waits for others. */
async function waits(shared: SharedAccounts, account: string): Promise<boolean> {
  let isOver = false;
  const yielded = shared.yield(account).then(() => {
    isOver = true;
  });
  await turn();
  const waited = !isOver;
  await yielded;
  return waited;
}

s('who is late three times in a row is held up, once for all times, until it is first', () => {
  let told = 0;
  const shared = new SharedAccounts(() => {
    told += 1;
  });
  for (let late = 0; late < 2; late += 1) shared.late('a');
  shared.late('b');
  assert.equal([shared.heldUp, told], [[], 0]);
  for (let late = 0; late < 5; late += 1) shared.late('a');
  assert.equal([shared.heldUp, told], [['a'], 1]);
  shared.won('a');
  for (let late = 0; late < 2; late += 1) shared.late('a');
  assert.equal([shared.heldUp, told], [[], 1]);
  shared.late('a');
  assert.equal([shared.heldUp, told], [['a'], 2]);
});

s('who hears of one that is held up waits before each of its own batches of that account', async () => {
  const shared = new SharedAccounts(() => {});
  assert.is(await waits(shared, 'a'), false);
  shared.makeWay(['a']);
  assert.ok(shared.isDoubtful('a'), 'another may have written to it');
  assert.is(await waits(shared, 'a'), true);
  shared.won('a');
  assert.is(await waits(shared, 'a'), true);
  assert.is(await waits(shared, 'b'), false);
  shared.late('a');
  assert.is(await waits(shared, 'a'), false, 'its turn: the last batch was not its own');
});

s.run();
