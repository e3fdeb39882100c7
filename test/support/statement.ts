/** Statements of an account that is written to: windows of which each begins where the one before ended. */
import * as assert from 'uvu/assert';
import type { Client } from './client.ts';
import { expectStatus } from './expect.ts';
import { transfer } from './flows.ts';
import { at, type Json, list, text, whole } from './json.ts';
import { sleep } from './wait.ts';

const WINDOWS = 40;
const WRITERS = 3;

/** A window's pages as one. */
async function windowOf(client: Client, query: string) {
  let page = expectStatus(await client.get(`/statement?limit=1000&${query}`), 200);
  const [to, opening] = [text(page, 'to'), whole(page, 'openingBalance')];
  const rows: Json[] = list(page, 'data');
  while (at(page, 'nextCursor') !== null) {
    const next = `limit=1000&cursor=${text(page, 'nextCursor')}`;
    page = expectStatus(await client.get(`/statement?${next}`), 200);
    rows.push(...list(page, 'data'));
  }
  return { to, opening, closing: whole(page, 'closingBalance'), rows };
}

/**
 * Reads windows while others write, through the doors of one account in turns, and asserts that they tell of each row
 * once and open with what the one before closed with.
 */
export async function expectTiles(doors: readonly [Client, ...Client[]]): Promise<void> {
  const door = (n: number): Client => doors[n % doors.length] ?? doors[0];
  const before = (await windowOf(door(0), 'from=2020-01-01')).rows.length;
  let isOver = false;
  let made = 0;
  const write = async (n: number): Promise<void> => {
    while (!isOver) {
      await transfer(door(n), 107);
      made += 1;
      await sleep(7);
    }
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, (_, n) => write(n)));
  const windows = [await windowOf(door(0), 'from=2020-01-01')];
  const goOn = async (): Promise<void> => {
    windows.push(await windowOf(door(windows.length), `from=${windows.at(-1)?.to}`));
  };
  while (windows.length < WINDOWS) {
    await sleep(23);
    await goOn();
  }
  isOver = true;
  await writers;
  await sleep(2);
  await goOn();
  const all = await windowOf(door(0), 'from=2020-01-01');
  assert.is(all.rows.length, before + made);
  assert.equal(
    windows.flatMap(({ rows }) => rows),
    all.rows,
  );
  windows.forEach(({ opening }, index) => {
    assert.is(opening, windows[index - 1]?.closing ?? 0);
  });
}
