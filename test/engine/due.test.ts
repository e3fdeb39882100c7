/** What is due, and is put off, where its clock was set. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Due, dueAgain, postponed, seen } from '../../src/engine/store/due.ts';

const test = suite('due');
const HOUR_MS = 3_600_000;
const NOON = Date.parse('2026-01-05T12:00:00Z');
const PARTS = { kind: 'delivery' as const, account: 'a', transaction: 't', delivery: 'd', tries: 0 };

/** Due at noon by a clock that was an hour ahead; it was brought back once that was put right. */
const broughtBack: Due = { ...PARTS, at: NOON - HOUR_MS, ahead: HOUR_MS };

test('what is put off is due after the delay, and what had come has come however often', () => {
  let due: Due = broughtBack;
  for (let clock = due.at; due.tries < 5; clock = due.at) {
    due = postponed(due, 250, clock);
    assert.is(due.at, clock + 250);
    assert.ok(seen(due, due.at) >= NOON, `put off ${due.tries} times it has not come`);
  }
});

test('where the clock is set back once more it stays so', () => {
  const due = postponed(broughtBack, 250, NOON - HOUR_MS);
  assert.ok(seen(due, NOON - 3 * HOUR_MS) >= NOON);
});

test('once the clock has come to its time nothing is left of the one that was ahead', () => {
  assert.is(postponed(broughtBack, 250, NOON - HOUR_MS / 4).ahead, HOUR_MS / 4);
  assert.is(postponed(broughtBack, 250, NOON).ahead, 0);
  // A clock that was set forward, and is right: what is brought forward by it again would wait for an hour more.
  assert.is(postponed(broughtBack, 250, NOON + HOUR_MS).ahead, 0);
});

test('what is due again after an attempt goes by the clock, and nothing is left of the one that was ahead', () => {
  assert.equal(dueAgain(broughtBack, NOON, 2), { ...PARTS, at: NOON, tries: 2 });
  assert.equal(dueAgain({ ...PARTS, at: NOON }, NOON + 1, 1), { ...PARTS, at: NOON + 1, tries: 1 });
});

test.run();
