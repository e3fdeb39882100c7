/** HTTP threads: what becomes of commands and callers when a thread dies, a caller leaves, or the engine is silent. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BURST } from '../../src/api/rate-limit.ts';
import { elapsed } from '../../src/clock.ts';
import { canSharePort } from '../../src/config.ts';
import { Overloaded } from '../../src/engine/actors/host.ts';
import { BankRefused } from '../../src/engine/bank.ts';
import { StoreUnavailable } from '../../src/engine/store.ts';
import { type Answer, answersOn, openSocket, requestText } from '../faults/pipeline.ts';
import { validCpf } from '../support/flows.ts';
import { type Json, text } from '../support/json.ts';
import { sleep, until } from '../support/wait.ts';
import { hang, type ThreadScene, withThreads } from './scene.ts';

const test = suite('threads');

const BALANCE = requestLine('GET', '/balance');
const TRANSFER = { amount: 1_000, pix: { pixKeyType: 'CPF', pixKey: validCpf } };

function requestLine(method: string, path: string, body?: Json) {
  return ({ account }: ThreadScene): string => requestText(account, method, path, body);
}

/** One answer, over a connection of its own. */
async function answer(scene: ThreadScene, request: (scene: ThreadScene) => string): Promise<Answer> {
  const socket = await openSocket(scene.threads.port);
  try {
    const answers = answersOn(socket, 1, 15_000);
    socket.write(request(scene));
    const [first] = await answers;
    if (first === undefined) throw new Error('there is one');
    return first;
  } finally {
    socket.destroy();
  }
}

async function available({ process, account }: ThreadScene): Promise<number> {
  return (await process.store.journal.head(account.accountId)).balances.available;
}

test('requests are answered from the engine, counted and limited', async () => {
  await withThreads(1, async (scene) => {
    const balance = await answer(scene, BALANCE);
    assert.equal(balance.body, { balance: 1_000_000, currency: 'BRL' });
    assert.is(balance.headers.ratelimit, `"account";r=${BURST - 1};t=1`);
    const created = await answer(scene, requestLine('POST', '/pix-in', { amount: 1_000 }));
    assert.is(created.status, 201, JSON.stringify(created.body));
    const found = await answer(scene, requestLine('GET', `/pix-in?id=${text(created.body, 'id')}`));
    assert.equal(found.body, created.body);
    await until(() => scene.observed.length === 3, 2_000, 'three observations');
    assert.equal(scene.observed.map(({ method, route, status }) => `${method} ${route} ${status}`).sort(), [
      'GET /v1/balance 200',
      'GET /v1/pix-in 200',
      'POST /v1/pix-in 201',
    ]);
  });
});

test('the errors that the API tells apart are told apart', async () => {
  await withThreads(1, async (scene) => {
    const thrown: [Error, number, string][] = [
      [new StoreUnavailable('away'), 503, 'A repeat with the same key is safe'],
      [new Overloaded('full'), 503, 'The service is overloaded'],
      [new BankRefused('no'), 502, 'The bank did not accept the operation.'],
      [new TypeError('a mistake of ours', { cause: new Error('below it') }), 500, 'Internal server error.'],
    ];
    for (const [error, status, message] of thrown) {
      scene.ports.journal.head = () => Promise.reject(error);
      const reply = await answer(scene, BALANCE);
      assert.is(reply.status, status);
      assert.match(text(reply.body, 'message'), message);
    }
    await until(() => scene.failures.length === thrown.length, 2_000, 'all failures');
    scene.failures.forEach((failure, index) => {
      const [expected] = thrown[index] ?? [];
      if (!(failure instanceof Error) || expected === undefined) throw new Error('there is one');
      assert.is(failure.constructor.name, expected.constructor.name);
      assert.equal([failure.message, failure.stack], [expected.message, expected.stack]);
    });
    const last = scene.failures.at(-1);
    assert.ok(last instanceof Error && last.cause instanceof Error && last.cause.message === 'below it');
  });
});

test('a thread that dies is replaced, and what it waited for is dropped', async () => {
  await withThreads(1, async (scene) => {
    const { threads, deaths, fatal, kill } = scene;
    const { begun, release } = hang(scene);
    const sockets = await Promise.all([openSocket(threads.port), openSocket(threads.port)]);
    const [first, second] = sockets;
    if (first === undefined || second === undefined) throw new Error('there are two');
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    // The first is on its way to the store; the second waits behind it.
    first.write(requestLine('POST', '/cashout', { ...TRANSFER, idempotencyKey: 'first' })(scene));
    await begun;
    second.write(requestLine('POST', '/cashout', { ...TRANSFER, idempotencyKey: 'second' })(scene));
    await until(() => scene.process.engine.waitingCommands === 1, 5_000, 'a command that waits');
    kill();
    await Promise.all(closed);
    await until(() => deaths.length === 1, 5_000, 'the death');
    assert.is(deaths[0]?.message, 'broken on purpose');
    release();
    const again = await until(() => answer(scene, BALANCE).catch(() => null), 10_000, 'a new thread');
    assert.is(again.status, 200);
    // What was decided took effect; what wasn't did not.
    await until(async () => (await available(scene)) === 1_000_000 - 1_050, 5_000, 'the first transfer');
    assert.is(scene.process.engine.waitingCommands, 0);
    assert.equal(fatal, []);
  });
});

test('the third death within a minute is fatal', async () => {
  await withThreads(1, async (scene) => {
    const { deaths, fatal, kill } = scene;
    for (const count of [1, 2]) {
      kill();
      await until(() => deaths.length === count, 5_000, `death ${count}`);
      await until(() => answer(scene, BALANCE).catch(() => null), 10_000, 'a new thread');
      assert.equal(fatal, []);
    }
    kill();
    await until(() => fatal.length === 1, 5_000, 'the end');
    assert.is(
      fatal[0]?.message,
      'HTTP threads have died 3 times within 60 s, the last one of: broken on purpose',
    );
    assert.is(deaths.length, 2, 'deaths after which another took its place');
  });
});

test('a command whose caller has left is dropped if it is not decided yet', async () => {
  await withThreads(1, async (scene) => {
    const { threads, process } = scene;
    const { begun, release } = hang(scene);
    const [stays, leaves] = await Promise.all([openSocket(threads.port), openSocket(threads.port)]);
    const answers = answersOn(stays, 1, 10_000);
    stays.write(requestLine('POST', '/cashout', { ...TRANSFER, idempotencyKey: 'stays' })(scene));
    await begun;
    leaves.write(requestLine('POST', '/cashout', { ...TRANSFER, idempotencyKey: 'leaves' })(scene));
    await until(() => process.engine.waitingCommands === 1, 5_000, 'a command that waits');
    leaves.destroy();
    await sleep(300);
    release();
    const [stayed] = await answers;
    assert.is(stayed?.status, 201);
    await until(() => process.engine.waitingCommands === 0, 5_000);
    assert.is(await available(scene), 1_000_000 - 1_050);
    stays.destroy();
  });
});

test('the start of the server: nothing is begun before it is known whose store it is, and probes are answered', async () => {
  const body = async (scene: ThreadScene): Promise<void> => {
    for (const request of [
      BALANCE,
      requestLine('POST', '/cashout', { ...TRANSFER, idempotencyKey: 'early' }),
    ]) {
      const early = await answer(scene, request);
      assert.equal([early.status, text(early.body, 'error')], [503, 'SERVICE_UNAVAILABLE']);
      assert.ok(early.headers['retry-after']);
    }
    assert.is(await available(scene), 1_000_000);
    const probe = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
    assert.is((await answer(scene, () => probe)).status, 200);
    scene.flags.open();
    assert.is((await answer(scene, BALANCE)).status, 200);
  };
  await withThreads(1, body, false);
});

test('the end of the server: connections end with their answers, then nothing is begun', async () => {
  await withThreads(1, async (scene) => {
    const { flags, threads } = scene;
    assert.is((await answer(scene, BALANCE)).headers.connection, 'keep-alive');
    flags.close();
    const last = await answer(scene, BALANCE);
    assert.equal([last.status, last.headers.connection], [200, 'close']);
    flags.drain();
    const refused = await answer(scene, BALANCE);
    assert.equal([refused.status, text(refused.body, 'error')], [503, 'SERVICE_UNAVAILABLE']);
    const { port } = threads;
    const started = elapsed();
    await threads.drain(4_000);
    assert.ok(elapsed() - started < 2_000, 'nobody is waited for');
    await openSocket(port).then(
      () => assert.unreachable('the port is still open'),
      (error: NodeJS.ErrnoException) => assert.is(error.code, 'ECONNREFUSED'),
    );
  });
});

if (canSharePort()) {
  test('two threads behind one port: one dies, and the connections of the other go on', async () => {
    await withThreads(2, async (scene) => {
      const { threads, deaths, began, kill } = scene;
      await until(() => began.length === 2, 5_000, 'both threads');
      const sockets = await Promise.all(Array.from({ length: 64 }, () => openSocket(threads.port)));
      const open = new Set(sockets);
      for (const socket of sockets) socket.once('close', () => open.delete(socket));
      await Promise.all(
        sockets.map((socket) => {
          const answers = answersOn(socket, 1, 10_000);
          socket.write(BALANCE(scene));
          return answers;
        }),
      );
      kill(began[0]);
      await until(() => deaths.length === 1 && began.length === 3, 10_000, 'a new thread');
      assert.ok(open.size > 0 && open.size < sockets.length, `${open.size} of ${sockets.length} stay open`);
      const left = [...open];
      await Promise.all(
        left.map(async (socket) => {
          const answers = answersOn(socket, 1, 10_000);
          socket.write(BALANCE(scene));
          assert.is((await answers)[0]?.status, 200);
        }),
      );
      // Both threads take new ones.
      const replies = await Promise.all(Array.from({ length: 32 }, () => answer(scene, BALANCE)));
      assert.equal([...new Set(replies.map(({ status }) => status))], [200]);
      for (const socket of sockets) socket.destroy();
    });
  });
}

test.run();
