/** The line between an HTTP thread and the engine's: who drops a command, and when, and who is told. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Directory } from '../../src/accounts/directory.ts';
import { Accounts, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import { actsOf } from '../../src/api/acts.ts';
import { createApp } from '../../src/api/app.ts';
import type { CommandOptions } from '../../src/api/context.ts';
import { BucketPlaces, RateLimit } from '../../src/api/rate-limit.ts';
import { showingOf } from '../../src/api/showing.ts';
import { elapsed, now } from '../../src/clock.ts';
import { Abandoned } from '../../src/engine/actors/host.ts';
import { IN_A_ROUND } from '../../src/engine/actors/rounds.ts';
import { bounded } from '../../src/engine/statement/bounded.ts';
import { endOf } from '../../src/engine/statement/end.ts';
import { statementsOf } from '../../src/engine/statement/page.ts';
import { listen } from '../../src/server/http.ts';
import { Answering, type EnginePorts } from '../../src/server/threads/answering.ts';
import { IN_A_MESSAGE, Line } from '../../src/server/threads/line.ts';
import {
  RemoteAccounts,
  remoteActs,
  remoteDirectory,
  remoteReads,
  remoteShowing,
  remoteStatementEnd,
  remoteStatements,
} from '../../src/server/threads/ports.ts';
import type { FromThread } from '../../src/server/threads/protocol.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { openAccount, openProcess, seal, TestBank } from '../faults/in-process.ts';
import { basic } from '../support/client.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { sleep, until } from '../support/wait.ts';

const test = suite('line');

const CHARGE = {
  ...{ amount: 1_000, externalRef: null, description: null, additionalInfo: null, customer: null },
  ...{ metadata: {}, expiresIn: null },
};

/** Both ends of a line in this thread, and an engine whose commands stay undecided until they are let go. */
async function scene() {
  const clock = { ms: now() };
  const process = openProcess({ state: new MemoryState(), clock, bank: new TestBank() });
  const { store } = process;
  const acts = actsOf(process.payments, now);
  const account = await openAccount(process, clock, 0);
  const begun: CommandOptions[] = [];
  const ends: (() => void)[] = [];
  const messages: FromThread[] = [];
  const ports: EnginePorts = {
    journal: store.journal,
    showing: showingOf(store.journal, now),
    statement: bounded(statementsOf(store.journal)),
    statementEnd: endOf({ journal: store.journal, engine: process.engine, now, isShared: false }),
    payments: {
      ...acts,
      createCharge(of, request, options) {
        begun.push(options);
        return new Promise((resolve) => ends.push(() => resolve(acts.createCharge(of, request, options))));
      },
    },
    accounts: store.accounts,
    directory: new Directory(store.accounts, seal(), now),
    places: new BucketPlaces(elapsed),
    state: { notReady: async () => null },
    spareTime: new SpareTime(),
    together: IN_A_ROUND,
  };
  const told = { onObserved: () => {}, onAnswered: () => {}, onFailure: () => {} };
  const answering = new Answering({ elapsed, ...told }, (replies) => line.take(replies));
  answering.serve(ports);
  const line = new Line((message) => {
    messages.push(message);
    answering.take(structuredClone(message));
  }, false);
  return { line, answering, account, begun, ends, messages, ports, store };
}

interface Caller {
  options: CommandOptions;
  hasLeft: boolean;
  wasDropped: boolean;
}

function caller(ms: number): Caller {
  const one: Caller = {
    hasLeft: false,
    wasDropped: false,
    options: {
      weight: 2_048,
      deadline: elapsed() + ms,
      abandoned: () => one.hasLeft,
      onDropped: () => {
        one.wasDropped = true;
      },
    },
  };
  return one;
}

test('what is said in one turn travels together, and the engine begins before the turn has ended', async () => {
  const { line, account, messages } = await scene();
  const calls = 2 * IN_A_MESSAGE + 3;
  const heads = Array.from({ length: calls }, () => line.ask('head', account.id));
  const atOnce = messages.length;
  assert.is((await Promise.all(heads)).length, calls);
  assert.is(atOnce, 2);
  assert.equal(
    messages.map((message) => JSON.parse(message.calls ?? '[]').length),
    [IN_A_MESSAGE, IN_A_MESSAGE, 3],
  );
});

test('at its deadline a command is dropped by the engine, and not before; the caller is told', async () => {
  const { line, account, begun, ends } = await scene();
  const [late, early] = [caller(400), caller(200)];
  const outcomes = [late, early].map(({ options }) =>
    line
      .send('createCharge', [account.id, CHARGE], options)
      .then(() => assert.unreachable('it was answered')),
  );
  await until(() => begun.length === 2, 2_000);
  assert.equal(
    begun.map(({ abandoned }) => abandoned()),
    [false, false],
  );
  await until(() => early.wasDropped, 2_000, 'word on the first');
  assert.ok(elapsed() >= early.options.deadline, 'before its time');
  assert.ok(begun[1]?.abandoned());
  await until(() => late.wasDropped, 2_000, 'word on the second');
  assert.ok(elapsed() >= late.options.deadline, 'before its time');
  // What the engine still says is nobody's.
  for (const end of ends) end();
  await Promise.race([Promise.all(outcomes), sleep(200)]);
});

test('what is decided in time is answered, whatever else waits', async () => {
  const { line, account, ends } = await scene();
  const [first, second] = [caller(10_000), caller(300)];
  const answer = line.send('createCharge', [account.id, CHARGE], first.options);
  line.send('createCharge', [account.id, CHARGE], second.options).catch(() => {});
  await until(() => second.wasDropped, 2_000);
  for (const end of ends) end();
  assert.is(JSON.parse(String(await answer)).status, 'waiting_payment');
  assert.is(first.wasDropped, false);
});

test('a caller that left is told to the engine, and its request ends at once', async () => {
  const { line, account, begun, ends } = await scene();
  const one = caller(10_000);
  const send = (): Promise<unknown> =>
    line.send('createCharge', [account.id, CHARGE], one.options).catch((error: unknown) => error);
  const outcome = send();
  await until(() => begun.length === 1, 2_000);
  one.hasLeft = true;
  await until(() => begun[0]?.abandoned(), 2_000, 'word at the engine');
  assert.instance(await outcome, Abandoned);
  for (const end of ends) end();
  // Who has left before is not even told to the engine.
  assert.instance(await send(), Abandoned);
  await sleep(50);
  assert.is(begun.length, 1);
});

test('the end of a thread drops what it waited for', async () => {
  const { line, answering, account, begun } = await scene();
  const one = caller(10_000);
  line.send('createCharge', [account.id, CHARGE], one.options).catch(() => {});
  await until(() => begun.length === 1, 2_000);
  answering.end();
  assert.ok(begun[0]?.abandoned());
  // Else the line, whose thread is still there, would look after its caller for ever.
  one.hasLeft = true;
});

test('numbers that JSON has no words for get through', async () => {
  const { line, ports } = await scene();
  let noted: unknown;
  ports.payments.noteUnknown = async ({ data }) => {
    noted = data;
  };
  await line.ask('noteUnknown', {
    id: 'm',
    transactionId: 't',
    type: 'PAY',
    data: JSON.parse('{"amount": 1e400, "at": -0}'),
  });
  assert.equal(noted, { amount: Number.POSITIVE_INFINITY, at: -0 });
});

/** Whether the engine drops what is late, or says nothing at all. */
async function lateAnswer(engineSpeaks: boolean): Promise<{ status: number; ms: number }> {
  const { line, answering, ports, store } = await scene();
  const issued = await new Accounts(store.accounts, seal(), now).create({ ...PLAIN_ACCOUNT, name: 'Late' });
  let isSilent = false;
  if (!engineSpeaks) {
    ports.payments.createCharge = () => {
      isSilent = true;
      answering.end();
      return new Promise(() => {});
    };
  }
  const accounts = new RemoteAccounts(line);
  const app = createApp({
    journal: remoteReads(line),
    showing: remoteShowing(line),
    statement: remoteStatements(line),
    statementEnd: remoteStatementEnd(line),
    payments: remoteActs(line),
    directory: remoteDirectory(accounts, now),
    rateLimit: new RateLimit(ports.places.memory, (account) => accounts.placeOf(account), elapsed),
    now,
    elapsed,
    patienceMs: 1_000,
    newRequestId: randomUUID,
    trustedProxyHops: 0,
    sandbox: false,
    bankCallbackSecret: null,
    state: { opened: true, closing: false, draining: false, notReady: async () => null },
    onFailure: () => {},
  });
  const server = await listen(app.callback(), '127.0.0.1', 0);
  const started = elapsed();
  const reply = await fetch(`http://127.0.0.1:${server.port}/v1/pix-in`, {
    method: 'POST',
    headers: {
      authorization: basic(issued.clientId, issued.clientSecret),
      'content-type': 'application/json',
    },
    body: '{"amount":1000}',
  });
  assert.is(isSilent, !engineSpeaks);
  await server.drain(0);
  return { status: reply.status, ms: elapsed() - started };
}

test('504 comes when the engine has dropped the command, or a second later where it says nothing', async () => {
  const [spoken, silent] = await Promise.all([lateAnswer(true), lateAnswer(false)]);
  assert.equal([spoken.status, silent.status], [504, 504]);
  assert.ok(spoken.ms >= 29_000 && spoken.ms < 29_900, `${spoken.ms} ms`);
  assert.ok(silent.ms >= 30_000 && silent.ms < 35_000, `${silent.ms} ms`);
});

test.run();
