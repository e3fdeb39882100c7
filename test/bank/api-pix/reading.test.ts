import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endToEndIdIn,
  firstCharacters,
  jsonOf,
  listIn,
  timeIn,
  wholeIn,
} from '../../../src/bank/api-pix/reading.ts';

const test = suite('reading');

test('a time without a zone is that of Brasília', () => {
  const times = {
    zulu: '2020-09-09T20:15:00.358Z',
    offset: '2020-09-09T17:15:00.358-03:00',
    bare: '2020-09-09T17:15:00.358',
    minutes: '2020-09-09T17:15',
  };
  assert.is(timeIn(times, 'zulu'), '2020-09-09T20:15:00.358Z');
  assert.is(timeIn(times, 'offset'), '2020-09-09T20:15:00.358Z');
  assert.is(timeIn(times, 'bare'), '2020-09-09T20:15:00.358Z');
  assert.is(timeIn(times, 'minutes'), '2020-09-09T20:15:00.000Z');
});

test('a time that can’t be read is none', () => {
  for (const at of ['', '2020-02-30T10:00:00Z', 'yesterday', '09/09/2020', 1_600_000_000_000, null]) {
    assert.is(timeIn({ at }, 'at'), null, String(at));
  }
});

test('an end-to-end id is any 32 letters and digits', () => {
  assert.is(endToEndIdIn({ id: 'e'.repeat(32) }, 'id'), 'e'.repeat(32));
  for (const id of ['E'.repeat(31), 'E'.repeat(33), `${'E'.repeat(31)}-`, 7]) {
    assert.is(endToEndIdIn({ id }, 'id'), null);
  }
});

test('a list keeps its objects, and a text that is no JSON is nothing', () => {
  assert.equal(listIn({ pix: [{ a: 1 }, null, 'x', [], { b: 2 }] }, 'pix'), [{ a: 1 }, { b: 2 }]);
  assert.equal(listIn({ pix: 'x' }, 'pix'), []);
  assert.equal(listIn(null, 'pix'), []);
  assert.is(jsonOf('<html>'), undefined);
  assert.equal(
    [3, '3', -1, 1.5, 'x', null].map((n) => wholeIn({ n }, 'n')),
    [3, 3, null, null, null, null],
  );
});

test('a text is cut by what people count', () => {
  assert.is(firstCharacters('ação', 3), 'açã');
  assert.is(firstCharacters('ação'.normalize('NFD'), 3), 'açã'.normalize('NFC'));
  assert.is(firstCharacters('😀😀😀', 2), '😀😀');
});

test.run();
