/** Whose page of a statement is read when: a few at a time, one of an account, and none that nobody waits for. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Abandoned } from '../../src/engine/actors/host.ts';
import { bounded, MOST_PAGES } from '../../src/engine/statement/bounded.ts';
import type { StatementPage } from '../../src/engine/statement/page.ts';
import { turn } from '../../src/waiting.ts';

const s = suite('statement turns');

const WISH = { from: 0, to: 1, limit: 1, place: null };
const PAGE: StatementPage = { opening: 0, closing: 0, rows: [], next: null };

let scenes = 0;

/** Pages that end when they are told to. */
function scene() {
  scenes += 1;
  const suffix = ` of scene ${scenes}`;
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const read = bounded((account) => {
    begun.push(account.replace(suffix, ''));
    return new Promise((resolve, reject) => {
      ends.push(() => (account.startsWith('bad') ? reject(new Error('the disk')) : resolve(PAGE)));
    });
  });
  /** What became of each, in the order in which they ended. */
  const ended: string[] = [];
  const ask = (account: string, abandoned = (): boolean => false): void => {
    read(`${account}${suffix}`, WISH, { abandoned }).then(
      () => ended.push(account),
      (error: unknown) => ended.push(error instanceof Abandoned ? `${account} left` : `${account} failed`),
    );
  };
  const endNext = async (): Promise<void> => {
    ends.shift()?.();
    await turn();
  };
  return { begun, ended, ask, endNext };
}

s('a few are read at a time, one of an account, and accounts have them in turns', async () => {
  const { begun, ended, ask, endNext } = scene();
  for (let n = 0; n < 50; n += 1) ask('busy');
  ask('one');
  ask('two');
  ask('one');
  await turn();
  assert.equal(begun, ['busy', 'one']);
  assert.is(begun.length, MOST_PAGES);
  for (let n = 0; n < 4; n += 1) await endNext();
  assert.equal(begun, ['busy', 'one', 'two', 'busy', 'one', 'busy']);
  while (ended.length < 53) await endNext();
  assert.is(begun.length, 53);
});

s('a page that failed gives its place to the next', async () => {
  const { ended, ask, endNext } = scene();
  for (const account of ['bad', 'bad', 'bad', 'good']) ask(account);
  await turn();
  for (let n = 0; n < 4; n += 1) await endNext();
  assert.equal(ended.sort(), ['bad failed', 'bad failed', 'bad failed', 'good']);
});

s('what nobody waits for at its turn is not read', async () => {
  const { begun, ended, ask, endNext } = scene();
  let hasLeft = false;
  const left = (): boolean => hasLeft;
  ask('one');
  ask('two');
  ask('one', left);
  ask('three', left);
  ask('four');
  await turn();
  hasLeft = true;
  for (let n = 0; n < 3; n += 1) await endNext();
  assert.equal(begun, ['one', 'two', 'four']);
  assert.equal(ended.sort(), ['four', 'one', 'one left', 'three left', 'two']);
});

s.run();
