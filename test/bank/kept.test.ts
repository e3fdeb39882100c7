/** The sandbox's wake-ups that come soon: they wait in memory, and the store hears of them once, at the end. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../src/audit/verify.ts';
import { Kept } from '../../src/bank/kept.ts';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import { allDue, type ClaimOf, claimOn, type Due, isOf, KEPT_MS } from '../../src/engine/store/due.ts';
import {
  applied,
  createCharge,
  createTransfer,
  openAccount,
  openProcess,
  type Process,
  stored,
} from '../faults/in-process.ts';
import { MemoryState } from '../support/memory-store/state.ts';

const test = suite('wake-ups that are kept');

const START = 1_800_000_000_000;
const DELAY_MS = 1_000;

function wakeUp(at: number, token: string): ClaimOf<'bank'> {
  const order = { kind: 'wake', step: 0, at: new Date(at).toISOString() } as const;
  const claim = claimOn({ kind: 'bank', at, account: 'a', transaction: 't', tries: 0, order }, token);
  if (!isOf(claim, 'bank')) throw new Error('no order');
  return claim;
}

function keeping() {
  const clock = { ms: START, elapsed: 5 };
  const kept = new Kept({ now: () => clock.ms, elapsed: () => clock.elapsed });
  const come = (): string[] => kept.come().map(({ token }) => token);
  return { clock, kept, come };
}

test('what was kept comes when its time has come, and once', () => {
  const { clock, kept, come } = keeping();
  assert.ok(kept.keep(wakeUp(START + 200, 'later')));
  assert.ok(kept.keep(wakeUp(START + 100, 'sooner')));
  assert.equal(come(), []);
  clock.ms += 100;
  assert.equal(come(), ['sooner']);
  clock.ms += 100;
  assert.equal(come(), ['later']);
  assert.equal(come(), []);
});

test('a clock that is set back holds it up no longer than it was to wait', () => {
  const { clock, kept, come } = keeping();
  kept.keep(wakeUp(START + 100, 'one'));
  clock.ms -= 3_600_000;
  clock.elapsed += 99;
  assert.equal(come(), []);
  clock.elapsed += 1;
  assert.equal(come(), ['one']);
});

test('what comes only later isn’t kept, nor more than there is room for', () => {
  const { kept } = keeping();
  assert.not(kept.keep(wakeUp(START + KEPT_MS + 1, 'far')));
  let count = 0;
  while (count < 100_000 && kept.keep(wakeUp(START + KEPT_MS, String(count)))) count += 1;
  assert.is(count, 32_768);
});

/** `settled`: ends of orders that were written by themselves; `ended`: with which messages others ended. */
type Watched = Process & { settled: { next: unknown }[]; ended: string[][] };

function open(state: MemoryState, clock: { ms: number }): Watched {
  const bank = new SandboxBank(DELAY_MS);
  const process = openProcess({ state, clock, bank, fresh: true, elapsed: () => clock.ms });
  const settled: { next: unknown }[] = [];
  const ended: string[][] = [];
  const { due, journal } = process.store;
  const append = journal.append.bind(journal);
  journal.append = async (what) => {
    const result = await append(what);
    if (result.outcome === 'appended' && result.ended !== undefined)
      for (const { due: order } of result.ended)
        ended.push([
          ...what.batch.entries.flatMap(({ transaction, message }) =>
            transaction === order.transaction ? message.type : [],
          ),
        ]);
    return result;
  };
  const settle = due.settle.bind(due);
  due.settle = (settlements) => {
    settled.push(...settlements.filter(({ claim }) => claim?.due.kind === 'bank'));
    return settle(settlements);
  };
  return { ...process, settled, ended };
}

/** Time goes by, in ticks. */
async function pass(process: Process, clock: { ms: number }, ms: number): Promise<void> {
  for (const end = clock.ms + ms; clock.ms < end; clock.ms += 100) await process.sweep();
  await process.sweep();
}

test('a transfer and a charge come to their ends, and each of their orders ends with its last message', async () => {
  const clock = { ms: START };
  const state = new MemoryState();
  const process = open(state, clock);
  const account = await openAccount(process, clock, 10_000);
  const transfer = applied(await createTransfer(process, account));
  const charge = applied(await createCharge(process, account, null, 1_001));
  await pass(process, clock, 900);
  assert.is((await stored(process, charge.id)).snapshot.value, 'waiting_payment');
  await pass(process, clock, 2_500);
  assert.is((await stored(process, charge.id)).snapshot.value, 'paid');
  assert.is((await stored(process, transfer.id)).snapshot.value, 'completed');
  assert.equal(process.ended.sort(), [['PAY'], ['SETTLE']]);
  assert.equal(process.settled, [], 'and needs no write of its own');
  assert.equal(await process.store.due.claim('bank', clock.ms + 60_000, 10), []);
  assert.equal(process.troubles, []);
});

test('a transfer is due when the sandbox has something to say of it, and else never', async () => {
  const clock = { ms: START };
  const process = open(new MemoryState(), clock);
  const { journal } = process.store;
  const dues: Due[] = [];
  const append = journal.append.bind(journal);
  journal.append = (what) => {
    dues.push(...allDue(what.due).filter(({ kind }) => kind === 'bank'));
    return append(what);
  };
  const account = await openAccount(process, clock, 10_000);
  const silent = applied(await createTransfer(process, account, null, 1_007));
  assert.equal(dues, []);
  const told = applied(await createTransfer(process, account));
  const at = START + DELAY_MS;
  const order = { kind: 'wake', step: 0, at: new Date(at).toISOString() };
  const due = { kind: 'bank', at, account: account.id, transaction: told.id, order, tries: 0 };
  assert.equal(dues, [due]);
  await pass(process, clock, 5_000);
  assert.is((await stored(process, silent.id)).snapshot.value, 'pending');
  assert.is((await stored(process, told.id)).snapshot.value, 'completed');
  // The journal names the order for both: a batch that is read again makes it due.
  for (const { id } of [silent, told]) {
    const [entry] = await journal.entries(account.id, id, [1, 2, 3, 4]);
    assert.equal(entry?.entry.orders, [{ kind: 'payout' }]);
  }
});

test('where the process dies, another one tells the steps again, and none is taken twice', async () => {
  const clock = { ms: START };
  const state = new MemoryState();
  const first = open(state, clock);
  const account = await openAccount(first, clock, 10_000);
  const transfer = applied(await createTransfer(first, account));
  await pass(first, clock, 1_200);
  const before = await stored(first, transfer.id);
  assert.is(before.snapshot.value, 'processing');
  assert.equal(first.settled, []);
  // Nothing of the first one runs any more.
  clock.ms += 60_000;
  const second = open(state, clock);
  await second.beat();
  clock.ms += 60_000;
  await second.beat();
  await pass(second, clock, 3_000);
  const after = await stored(second, transfer.id);
  assert.is(after.snapshot.value, 'completed');
  assert.is(Object.keys(after.messages).length, Object.keys(before.messages).length + 1);
  const options = { heads: false, decide: true, everyDoorSpeaks: true };
  assert.ok((await verifyStore(second.store.journal, options)).ok);
});

test('a message that is told twice ends its order the second time', async () => {
  const clock = { ms: START };
  const process = open(new MemoryState(), clock);
  const account = await openAccount(process, clock, 10_000);
  const transfer = applied(await createTransfer(process, account, null, 1_005));
  const endings: boolean[] = [];
  const send = process.engine.send.bind(process.engine);
  process.engine.send = (id, command, options) => {
    if (command.kind === 'message') endings.push(options?.ending !== undefined);
    return send(id, command, options);
  };
  await pass(process, clock, 5_000);
  assert.is((await stored(process, transfer.id)).snapshot.value, 'completed');
  assert.equal(endings, [false, false, false, true], 'START and SETTLE, each twice');
  assert.equal(await process.store.due.claim('bank', clock.ms + 60_000, 10), []);
});

test.run();
