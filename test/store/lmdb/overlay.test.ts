/** A table of the projections, with what isn't written yet: what is told and what comes to be written are the same. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Overlay, TEXT } from '../../../src/store/lmdb/projections/overlay.ts';
import type { Table } from '../../../src/store/lmdb/projections/table.ts';
import { randomOf } from '../../faults/scene.ts';

const test = suite('what waits to be written');

/** A table whose rows are in memory, with how often it was written to. */
class MemoryTable implements Table {
  readonly stored = new Map<string, string>();
  writes = 0;

  get(key: string): string | undefined {
    return this.stored.get(key);
  }

  has(key: string): boolean {
    return this.stored.has(key);
  }

  *rows(): Generator<{ key: string; value: string }> {
    for (const [key, value] of [...this.stored].sort(([a], [b]) => (a < b ? -1 : 1))) yield { key, value };
  }

  *keys(): Generator<string> {
    for (const { key } of this.rows()) yield key;
  }

  put(key: string, value: string): void {
    this.writes += 1;
    this.stored.set(key, value);
  }

  remove(key: string): void {
    this.writes += 1;
    this.stored.delete(key);
  }
}

test('what comes and goes before it is written is never written', () => {
  const table = new MemoryTable();
  const overlay = new Overlay({ table, coding: TEXT, areNew: true });
  overlay.put('a', '');
  overlay.put('b', '');
  overlay.remove('a');
  assert.is(overlay.waiting, 1);
  overlay.issue();
  overlay.written();
  assert.equal([[...table.stored.keys()], table.writes], [['b'], 1]);
  overlay.remove('b');
  overlay.put('b', '');
  overlay.remove('b');
  overlay.issue();
  overlay.written();
  assert.equal([[...table.stored.keys()], table.writes], [[], 2]);
});

for (const areNew of [false, true])
  test(`any order of changes and writes leads to the same${areNew ? ', where what is put is new' : ''}`, () => {
    const random = randomOf(26);
    const pick = (count: number): number => Math.floor(random() * count);
    for (let round = 0; round < 200; round++) {
      const table = new MemoryTable();
      const overlay = new Overlay({ table, coding: TEXT, areNew });
      const model = new Map<string, string>();
      let isUnderWay = false;
      for (let step = 0; step < 60; step++) {
        const key = `k${pick(4)}`;
        const act = pick(6);
        if (act < 2 && !(areNew && model.has(key))) {
          overlay.put(key, String(step));
          model.set(key, String(step));
        } else if (act < 4) {
          overlay.remove(key);
          model.delete(key);
        } else if (act === 4 && !isUnderWay) {
          overlay.issue();
          isUnderWay = true;
        } else if (isUnderWay) {
          overlay.written();
          isUnderWay = false;
        }
        for (let at = 0; at < 4; at++) assert.is(overlay.get(`k${at}`), model.get(`k${at}`) ?? null);
      }
      if (isUnderWay) overlay.written();
      overlay.issue();
      overlay.written();
      assert.equal(
        [...table.rows()],
        [...model].sort().map(([key, value]) => ({ key, value })),
      );
    }
  });

test.run();
