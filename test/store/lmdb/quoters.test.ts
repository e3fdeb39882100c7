/** The names of the lookups that an account has had any of, as a row of the table has them. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasName, namesIn } from '../../../src/store/lmdb/projections/quoters.ts';

const test = suite('names in a row');

const NAMES = ['externalRef', 'payment', 'refund', 'refundKey', 'return', 'returned'];

test('a row has the names that stand in it, and no part of one', () => {
  for (let some = 0; some < 2 ** NAMES.length; some++) {
    const row = NAMES.filter((_, index) => (some >> index) % 2 === 1).join(' ');
    for (const name of [...NAMES, 'Key', 'ref', 'turn'])
      assert.is(hasName(row, name), namesIn(row).includes(name));
  }
});

test.run();
