/** Holders of what comes and goes. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Lately, Named, Numbered, PLACES, TURNS } from '../src/passing.ts';

const test = suite('passing');

test('what has a number is taken out by it, once', () => {
  const numbered = new Numbered<string>();
  const [one, two] = [numbered.put('one'), numbered.put('two')];
  assert.is(numbered.size, 2);
  assert.is(numbered.take(two), 'two');
  assert.is(numbered.take(two), null);
  assert.equal([...numbered], [[one, 'one']]);
  assert.is(numbered.size, 1);
});

test('a number never stands for what came later', () => {
  const numbered = new Numbered<number>();
  const seen = new Set<number>();
  for (let n = 0; n < 1_000; n++) {
    const number = numbered.put(n);
    assert.not(seen.has(number));
    for (const before of seen) assert.is(numbered.take(before), null);
    seen.add(number);
    assert.is(numbered.take(number), n);
  }
  // One place was enough for all of them.
  assert.is(numbered.size, 0);
  assert.is(numbered.take(0), null);
  assert.is(numbered.take(-1), null);
});

test('numbers begin anew before they are too large to be told apart', () => {
  const most = 3;
  const numbered = new Numbered<number>(most);
  const kept = numbered.put(-1);
  const numbers = Array.from({ length: 2 * most }, (_, n) => {
    const number = numbered.put(n);
    assert.is(numbered.take(number), n);
    assert.is(numbered.take(number), null);
    return number;
  });
  assert.equal(numbers.slice(0, most), numbers.slice(most));
  assert.is(new Set(numbers).size, most);
  assert.is(numbered.take(kept), -1);
  // As often as a place is taken at the most, with the last of all places.
  assert.ok(TURNS * PLACES + PLACES - 1 <= Number.MAX_SAFE_INTEGER);
});

test('what is taken out while all are gone through is left out', () => {
  const numbered = new Numbered<string>();
  const numbers = ['a', 'b', 'c'].map((text) => numbered.put(text));
  const met: string[] = [];
  for (const [number, text] of numbered) {
    met.push(text);
    numbered.take(number);
    if (text === 'a') numbered.take(numbers[1] ?? 0);
  }
  assert.equal(met, ['a', 'c']);
  assert.is(numbered.size, 0);
});

test('what has a name is found by it until it is deleted, whatever the name', () => {
  const named = new Named<number>();
  const names = ['a', '__proto__', 'constructor', '12', ''];
  for (const [index, name] of names.entries()) {
    assert.not(named.has(name));
    assert.is(named.get(name), undefined);
    named.set(name, index);
  }
  assert.equal(named.values().sort(), [0, 1, 2, 3, 4]);
  named.set('a', 5);
  for (const [index, name] of names.entries()) {
    assert.is(named.get(name), name === 'a' ? 5 : index);
    named.delete(name);
    assert.not(named.has(name));
  }
  assert.equal(named.values(), []);
});

test('many names are kept apart, those that end alike too, while they come and go', () => {
  const named = new Named<string>();
  const nameOf = (n: number): string => `${n % 7} of ${n} ends as all of them do`;
  const MANY = 5_000;
  for (let n = 0; n < MANY; n++) {
    named.set(nameOf(n), `${n}`);
    if (n % 3 === 0) named.delete(nameOf(n / 3));
  }
  const gone = (n: number): boolean => 3 * n < MANY;
  const left: string[] = [];
  for (let n = 0; n < MANY; n++) {
    assert.is(named.get(nameOf(n)), gone(n) ? undefined : `${n}`);
    assert.is(named.has(nameOf(n)), !gone(n));
    if (!gone(n)) left.push(`${n}`);
  }
  assert.equal(named.values().sort(), left.sort());
});

test('what has a number can be looked at, and stays in', () => {
  const numbered = new Numbered<number>();
  const one = numbered.put(0);
  assert.is(numbered.get(one), 0);
  assert.is(numbered.take(one), 0);
  assert.is(numbered.get(one), null);
  const two = numbered.put(2);
  assert.is(numbered.get(one), null, 'its place is another one’s');
  assert.is(numbered.get(two), 2);
  for (const never of [0, -1, Number.NaN, 2 ** 40 + 3]) assert.is(numbered.get(never), null);
});

test('of names that came at least the last so many are known, and fewer than twice as many', () => {
  const lately = new Lately<number>(100);
  for (let n = 0; n < 1_000; n++) {
    assert.not(lately.has(`${n}`));
    assert.is(lately.get(`${n}`), undefined);
    lately.set(`${n}`, n);
    for (let before = Math.max(0, n - 99); before <= n; before++) {
      assert.ok(lately.has(`${before}`));
      assert.is(lately.get(`${before}`), before);
    }
    for (let before = 0; before <= n - 200; before++) assert.not(lately.has(`${before}`));
  }
});

test('the last that was put under a name is found, until it is deleted, whatever came between', () => {
  const lately = new Lately<number>(10);
  for (let n = 0; n < 100; n++) {
    lately.set('it', n);
    for (let other = 0; other < n % 20; other++) lately.set(`${n} ${other}`, 0);
    const known = lately.get('it');
    assert.ok(known === n || (known === undefined && n % 20 > 8), `${n}: ${known}`);
    lately.delete('it');
    assert.is(lately.get('it'), undefined);
    assert.not(lately.has('it'));
    if (n % 3 === 0) lately.set('it', -n);
  }
});

test.run();
