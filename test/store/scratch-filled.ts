/** Fills a temporary table until it takes no more, and tells why; what it took before must be there. */
import { hash } from 'node:crypto';
import * as assert from 'uvu/assert';
import { openTemporaryTable, type TemporaryTable } from '../../src/store/scratch.ts';

/** More than the limits that this is run under let it take. */
const ROWS = 100_000;
const TOGETHER = 40;

type Rows = Parameters<TemporaryTable['put']>[0];

/** Keys that lie anywhere among each other; values of all sizes up to more than a page. */
function rowsFrom(first: number): Rows {
  return Array.from({ length: TOGETHER }, (_, place) => {
    const key = hash('sha256', `${first + place}`, 'hex');
    return { key: ['record', 'acc', key], value: key.repeat((first + place) % 90) };
  });
}

function fill(table: TemporaryTable): void {
  const rows: Rows[] = [];
  try {
    for (let first = 0; first < ROWS; first += TOGETHER) {
      const together = rowsFrom(first);
      table.put(together);
      rows.push(together);
    }
  } finally {
    for (const { key, value } of rows.flat()) assert.is(table.get(key), value);
  }
}

try {
  const table = await openTemporaryTable();
  try {
    fill(table);
  } finally {
    await table.close();
  }
} catch (error) {
  const { name } = Object.getPrototypeOf(error).constructor;
  process.stdout.write(`${name}: ${(error as Error).message}\n`);
}
