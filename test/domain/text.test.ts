import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { codePoints, isPrintable, isTooDeep, MAX_DEPTH } from '../../src/domain/text.ts';
import { holds } from './holds.ts';

const s = suite('text');

s('lengths are code points after NFC', () => {
  assert.is(codePoints(''), 0);
  assert.is(codePoints('Pedido'), 6);
  assert.is(codePoints('São João'), 8);
  assert.is(codePoints('Sa\u0303o'), 3);
  assert.is(codePoints('😀'), 1);
  assert.is(codePoints('👩‍👧'), 3);
  assert.is(codePoints('\ud800'), 1);
});

s('both spellings of an accent have one length', () => {
  holds(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.is(codePoints(text.normalize('NFD')), codePoints(text));
    }),
  );
});

s('control characters are not printable', () => {
  for (let code = 0; code <= 0xff; code += 1) {
    const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
    assert.is(isPrintable(`a${String.fromCharCode(code)}b`), !isControl, `U+${code.toString(16)}`);
  }
});

s('lone surrogates are not printable, pairs are', () => {
  assert.not(isPrintable('\ud83d'));
  assert.not(isPrintable('a\ude00'));
  assert.not(isPrintable('\ude00\ud83d'));
  assert.ok(isPrintable('\ud83d\ude00'));
});

s('everything else is printable, separators and format characters as well', () => {
  for (const text of [
    '',
    ' ',
    'São Paulo',
    '日本',
    'a\u2028b',
    'a\u2029b',
    'a\u200db',
    '\u202e',
    '\ufeff',
    '\ue000',
  ]) {
    assert.ok(isPrintable(text), JSON.stringify(text));
  }
});

/** How deep a value is nested. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

s('a JSON text is too deep by its brackets, whatever its strings hold', () => {
  const string = fc.string({ unit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a') });
  const levels = fc.array(fc.tuple(fc.boolean(), string), {
    minLength: MAX_DEPTH - 3,
    maxLength: MAX_DEPTH + 3,
  });
  holds(
    fc.property(levels, (wraps) => {
      const value = wraps.reduce<unknown>(
        // What lies beside the deepest part is closed again, before and behind it.
        (inner, [isList, beside]) =>
          isList ? [[beside], inner, []] : { '': {}, [`${beside}a`]: inner, b: beside },
        0,
      );
      const text = JSON.stringify(value);
      assert.is(isTooDeep(Buffer.from(text)), depthOf(value) > MAX_DEPTH, text);
    }),
  );
});

s.run();
