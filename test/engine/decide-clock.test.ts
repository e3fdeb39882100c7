/** What is decided about time and events: expiry, its timer, deliveries. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { raise, setup } from 'xstate';
import type { Charge } from '../../src/domain/transactions.ts';
import {
  adjustment,
  charge,
  due,
  EXPIRY,
  endToEndId,
  message,
  pay,
  START,
  transfer,
  uuid,
  withChart,
} from './support.ts';
import { given } from './support-scenario.ts';

const s = suite('decide: the clock');

const [A, B] = [uuid(1), uuid(2)];

s('a charge starts its timer for the time that it shows, and credits nothing', () => {
  const { ledger, entries } = given()
    .when(charge(A))
    .gives({
      answers: ['applied'],
      states: { [A]: 'waiting_payment' },
      available: 0,
      events: ['pix-in.waiting_payment'],
      orders: [],
    });
  const at = new Date(START + 3_600_000).toISOString();
  assert.equal(entries[0]?.timers, [{ name: EXPIRY, at }]);
  assert.is((ledger.record(A).snapshot.context as { expiresAt: string }).expiresAt, at);
});

s('the bank that wants to be woken about a charge is', () => {
  const { entries } = given()
    .when({ ...charge(A), wakeInMs: 500 })
    .gives({ orders: ['wake'] });
  assert.equal(entries[0]?.orders, [{ kind: 'wake', step: 0, at: new Date(START + 500).toISOString() }]);
});

const EXPIRES = START + 3_600_000;

s('a timer never fires before its time', () => {
  given(charge(A))
    .at(EXPIRES - 1)
    .when(due(A, EXPIRY, EXPIRES))
    .gives({ answers: ['notYet'], states: { [A]: 'waiting_payment' }, entries: 0 });
});

s('a timer of an account whose time is ahead fires by the clock, and is put off by it', () => {
  const ahead = 3_600_000;
  const at = EXPIRES - ahead;
  const fired = (clock: number) =>
    given(charge(A))
      .at(Math.max(clock, START))
      .but((ledger) => {
        ledger.aheadMs = ledger.now - clock;
      })
      .when({ kind: 'timer', transaction: A, name: EXPIRY, at, ahead });
  const { decisions } = fired(at - 1).gives({ answers: ['notYet'], entries: 0 });
  assert.equal(decisions[0]?.answer, { kind: 'notYet', at });
  fired(at).gives({ answers: ['applied'], states: { [A]: 'expired' } });
});

s('nor where the clock that it had come by was ahead, and is right by now', () => {
  const late = EXPIRES + 3_600_000;
  const fired = (now: number, clock: number) =>
    given(charge(A))
      .at(now)
      .but((ledger) => {
        ledger.aheadMs = now - clock;
      })
      .when(due(A, EXPIRY, EXPIRES));
  const clock = EXPIRES - 1_800_000;
  const { decisions } = fired(clock, clock).gives({
    answers: ['notYet'],
    states: { [A]: 'waiting_payment' },
  });
  assert.equal(decisions[0]?.answer, { kind: 'notYet', at: EXPIRES });
  // Others of the account have expired by that clock: the account's time stays.
  fired(late, clock).gives({ answers: ['notYet'], entries: 0 });
  fired(clock, START - 2_000).gives({ answers: ['applied'], states: { [A]: 'expired' } });
});

s('a due timer expires the charge once', () => {
  given(charge(A))
    .at(EXPIRES)
    .when(due(A, EXPIRY, EXPIRES), due(A, EXPIRY, EXPIRES))
    .gives({
      answers: ['applied', 'repeated'],
      states: { [A]: 'expired' },
      events: ['pix-in.expired'],
      available: 0,
      entries: 1,
    });
});

s('a timer only changes a charge that still waits', () => {
  for (const command of [
    pay(A, 1),
    message(A, 'HOLD', { endToEndId: endToEndId(1) }),
    message(A, 'CANCEL'),
  ]) {
    given(charge(A), command)
      .at(EXPIRES)
      .when(due(A, EXPIRY, EXPIRES))
      .gives({ answers: ['repeated'], entries: 0 });
  }
});

s('a timer that nobody started, or of nobody, changes nothing', () => {
  given(charge(A))
    .at(EXPIRES)
    .when(due(A, 'xstate.after.retry.webhook-delivery.retrying', EXPIRES), due(B, EXPIRY, EXPIRES))
    .gives({ answers: ['repeated', 'unknown'], states: { [A]: 'waiting_payment' }, entries: 0 });
});

s("the clock's entries take no message id: a message may have the timer's name", () => {
  given(charge(A), message(A, 'CANCEL', {}, { id: EXPIRY }))
    .at(EXPIRES)
    .when(due(A, EXPIRY, EXPIRES))
    .gives({ answers: ['repeated'], states: { [A]: 'canceled' } });
  const { ledger } = given(charge(A))
    .at(EXPIRES)
    .when(due(A, EXPIRY, EXPIRES))
    .gives({ entries: 1 });
  assert.equal(ledger.record(A).messages, {});
});

s('a payment is taken while the charge waits, even past its expiry', () => {
  given(charge(A))
    .at(EXPIRES + 60_000)
    .when(pay(A, 1), due(A, EXPIRY, EXPIRES))
    .gives({ answers: ['applied', 'repeated'], states: { [A]: 'paid' }, available: 9_900 });
});

/** A chart whose timers are two: one sends a message of the chart's own, one is a transition itself. */
const sleeper = setup({
  types: { context: {} as Charge, events: {} as { type: 'WAKE' }, input: {} as Charge },
  actions: { wake: raise({ type: 'WAKE' }) },
  delays: { nap: 1_000, rest: 2_000 },
}).createMachine({
  id: 'pix-in',
  version: '1',
  context: ({ input }) => input,
  initial: 'asleep',
  states: {
    asleep: { after: { nap: { actions: 'wake' } }, on: { WAKE: 'awake' } },
    awake: { after: { rest: 'away' } },
    away: {},
  },
});

s("a timer's entry bears the name of the message that it stands for, or its own", () => {
  withChart('pix-in', sleeper, () => {
    const rest = 'xstate.after.rest.pix-in.awake';
    const { entries } = given(charge(A))
      .at(START + 10_000)
      .when(due(A, 'xstate.after.nap.pix-in.asleep', START))
      .gives({ answers: ['applied'], states: { [A]: 'awake' } });
    assert.equal(
      entries.map(({ message }) => message.type),
      ['WAKE'],
    );
    const later = given(charge(A))
      .at(START + 10_000)
      .and(due(A, 'xstate.after.nap.pix-in.asleep', START))
      .at(START + 20_000)
      .when(due(A, rest, START))
      .gives({ answers: ['applied'], states: { [A]: 'away' } });
    assert.equal(
      later.entries.map(({ message }) => message.type),
      [rest],
    );
  });
});

const webhook = (url: string, events: string[] | null) => ({ url, events, secrets: [] });

s('every status change has one event, and one delivery for each URL that wants it', () => {
  const webhooks = [
    webhook('https://a', null),
    webhook('https://b', ['pix-in.paid']),
    webhook('https://c', ['pix-in.*', 'cashout.completed']),
  ];
  const { entries } = given(adjustment(5_000))
    .with({ webhooks })
    .when(charge(A), pay(A, 1), transfer(B), message(B, 'SETTLE'))
    .gives({
      events: [
        'pix-in.waiting_payment',
        'pix-in.paid',
        'cashout.pending',
        'cashout.processing',
        'cashout.completed',
      ],
    });
  const events = entries.flatMap((entry) => entry.events);
  assert.equal(
    events.map(({ deliveries }) => deliveries.map(({ url }) => url.at(-1)).join('')),
    ['ac', 'abc', 'a', 'a', 'ac'],
  );
  const ids = [...events.map(({ id }) => id), ...events.flatMap((e) => e.deliveries.map(({ id }) => id))];
  assert.is(new Set(ids).size, ids.length);
});

s("a delivery names its URL's delivery before it, over filters and entries", () => {
  const webhooks = [
    webhook('https://a', null),
    webhook('https://b', ['cashout.pending', 'cashout.completed']),
  ];
  const { ledger } = given(adjustment(5_000))
    .with({ webhooks })
    .and(transfer(A))
    .when(message(A, 'SETTLE'))
    .gives({ entries: 1 });
  const chain = (url: string) =>
    ledger.entries.flatMap(({ entry }) =>
      entry.events.flatMap((e) => e.deliveries.filter((d) => d.url === url)),
    );
  for (const [url, count] of [
    ['https://a', 3],
    ['https://b', 2],
  ] as const) {
    const deliveries = chain(url);
    assert.is(deliveries.length, count);
    assert.equal(
      deliveries.map(({ after }) => after),
      [null, ...deliveries.slice(0, -1).map(({ id }) => id)],
    );
  }
});

s.run();
