import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { composeEndToEndId, isEndToEndId } from '../../src/domain/end-to-end-id.ts';
import { holds } from './holds.ts';

const s = suite('end-to-end-id');

const FORM = /^E[0-9A-Z]{8}\d{12}[0-9A-Za-z]{11}$/;

s('an identifier is E, ISPB, minute in UTC and suffix', () => {
  const at = Date.UTC(2026, 10, 3, 9, 5, 59, 999);
  assert.is(composeEndToEndId('12345678', at, 'abcDEF12345'), 'E12345678202611030905abcDEF12345');
  assert.ok(isEndToEndId('E12345678202611030905abcDEF12345'));
  assert.ok(isEndToEndId('E1A2B3C4D202402292359abcDEF12345'));
});

s('anything else is no identifier', () => {
  const others = [
    '',
    'D12345678202611030905abcDEF12345',
    'e12345678202611030905abcDEF12345',
    'E1234567a202611030905abcDEF12345',
    'E12345678202611030905abcDEF1234',
    'E12345678202611030905abcDEF123456',
    'E12345678202611030905abcDEF1234-',
    'E12345678202611030905abcDEF12345\n',
  ];
  for (const other of others) assert.not(isEndToEndId(other), other);
});

s('the date must be a possible one', () => {
  for (const stamp of ['202613010000', '202600010000', '202604310000', '202302290000', '202611002359']) {
    assert.not(isEndToEndId(`E12345678${stamp}abcDEF12345`), stamp);
  }
  for (const stamp of ['202611032400', '202611031260', '202611320000', '999999999999']) {
    assert.not(isEndToEndId(`E12345678${stamp}abcDEF12345`), stamp);
  }
});

s('parts in another form are thrown out', () => {
  assert.throws(() => composeEndToEndId('1234567', 0, 'abcDEF12345'), /ISPB/);
  assert.throws(() => composeEndToEndId('1234567a', 0, 'abcDEF12345'), /ISPB/);
  assert.throws(() => composeEndToEndId('12345678', 0, 'abcDEF1234'), /suffix/);
  assert.throws(() => composeEndToEndId('12345678', 0, 'abcDEF1234-'), /suffix/);
  assert.throws(() => composeEndToEndId('12345678', Number.NaN, 'abcDEF12345'), /time/);
  assert.throws(() => composeEndToEndId('12345678', Date.UTC(10_000, 0), 'abcDEF12345'), /time/);
});

s('whatever is composed is an identifier of 32 characters', () => {
  const alphanumerics = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const text = (characters: string[], length: number) =>
    fc.string({ unit: fc.constantFrom(...characters), minLength: length, maxLength: length });
  const suffix = text([...alphanumerics, ...'abcdefghijklmnopqrstuvwxyz'], 11);
  const at = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59) });
  holds(
    fc.property(text(alphanumerics, 8), at, suffix, (ispb, time, end) => {
      const id = composeEndToEndId(ispb, time, end);
      assert.is(id.length, 32);
      assert.match(id, FORM);
      assert.ok(isEndToEndId(id));
    }),
  );
});

s.run();
