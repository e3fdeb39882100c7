/** One text for a value, and two values compared without it. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson, isSameJson } from '../../src/domain/canonical-json.ts';
import { holds } from './holds.ts';

const test = suite('canonical JSON');

/** Names that every object has from its prototype are among the members. */
const NAMES = fc.constantFrom('a', 'b', 'toString', 'constructor', '__proto__', 'hasOwnProperty');
const LEAVES = fc.constantFrom(0, -0, 1, '', 'a', '0', true, false, null, undefined);

const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, LEAVES, tie('list'), tie('object')),
  list: fc.array(
    tie('value').map((one) => one ?? null),
    { maxLength: 3 },
  ),
  object: fc
    .array(fc.tuple(NAMES, tie('value')), { maxLength: 4 })
    .map((members) => Object.fromEntries(members)),
}));

/** The same value with its members in another order. */
function turned(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  if (Array.isArray(given)) return given.map(turned);
  return Object.fromEntries(
    Object.entries(given)
      .reverse()
      .map(([name, member]) => [name, turned(member)]),
  );
}

test('two values are the same exactly where their texts are', () => {
  const property = fc.property(fc.tuple(value, value), ([a, b]) => {
    assert.is(
      isSameJson([a ?? null], [b ?? null]),
      canonicalJson([a ?? null]) === canonicalJson([b ?? null]),
    );
    assert.is(isSameJson([a ?? null], turned([a ?? null])), true);
    assert.is(canonicalJson(turned([a ?? null])), canonicalJson([a ?? null]));
  });
  holds(property, { numRuns: 5_000 });
});

test('members stand in code-unit order, however deep, whatever order they came in', () => {
  const cases: [unknown, string][] = [
    [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
    [{ b: { d: 1, c: [2] } }, '{"b":{"c":[2],"d":1}}'],
    [{ a: 1, c: 2, b: 3 }, '{"a":1,"b":3,"c":2}'],
    // What is in order beside it makes nothing else so.
    [[{ a: 1 }, { b: 1, a: 2 }], '[{"a":1},{"a":2,"b":1}]'],
    [[{ b: 1, a: 2 }, 0], '[{"a":2,"b":1},0]'],
    // Objects have such names in the order of numbers, and code points would stand the other way round.
    [{ 9: 1, 10: 2 }, '{"10":2,"9":1}'],
    [{ '\uFF5E': 1, '\u{1F600}': 2 }, '{"\u{1F600}":2,"\uFF5E":1}'],
    [{ a: undefined, b: [null] }, '{"b":[null]}'],
  ];
  for (const [given, text] of cases) assert.is(canonicalJson(given), text);
});

test('a member that is missing is none that every object has', () => {
  const own = JSON.parse('{"toString":{},"__proto__":{}}');
  assert.is(isSameJson(own, {}), false);
  assert.is(isSameJson({}, own), false);
  assert.is(isSameJson({ a: undefined }, {}), true);
  assert.is(isSameJson({ a: undefined }, { a: null }), false);
  assert.is(isSameJson([], {}), false);
});

test.run();
