/** Calls of an HTTP thread that haven't begun when it dies, or when their callers leave. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { elapsed } from '../../src/clock.ts';
import { Answering, type EnginePorts, type ThreadPorts } from '../../src/server/threads/answering.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { turn } from '../../src/waiting.ts';

const test = suite('answering');

const TOGETHER = 16;
const COUNT = 64;

/** An engine that notes the callers of what is begun, and answers nothing. */
function scene(): { answering: Answering; serve(): void; waiting(): number } {
  const begun: { abandoned(): boolean }[] = [];
  const createCharge = (_account: unknown, _request: unknown, options: { abandoned(): boolean }) => {
    begun.push(options);
    return new Promise(() => {});
  };
  const ports = {
    ...{ payments: { createCharge }, directory: { account: () => ({ id: 'a' }) } },
    ...{ spareTime: new SpareTime(), together: TOGETHER },
  };
  const answering = new Answering({ elapsed } as unknown as ThreadPorts, () => {});
  return {
    answering,
    serve: () => answering.serve(ports as unknown as EnginePorts),
    waiting: () => begun.filter(({ abandoned }) => !abandoned()).length,
  };
}

const numbers = Array.from({ length: COUNT }, (_, n) => n + 1);
const deadline = elapsed() + 30_000;
const calls = JSON.stringify(
  numbers.map((n) => ({ n, name: 'createCharge', args: ['a', {}], weight: 1, deadline })),
);

async function turns(): Promise<void> {
  for (let n = 0; n <= COUNT / TOGETHER; n++) await turn();
}

test('all begin, some at a time', async () => {
  const { answering, serve, waiting } = scene();
  serve();
  answering.take({ calls });
  await turns();
  assert.is(waiting(), COUNT);
  answering.end();
});

test('what comes before the engine is there waits for it', async () => {
  const { answering, serve, waiting } = scene();
  answering.take({ calls });
  await turns();
  assert.is(waiting(), 0);
  serve();
  await turns();
  assert.is(waiting(), COUNT);
  answering.end();
});

test('of a thread that has died nothing begins any more', async () => {
  const { answering, serve, waiting } = scene();
  serve();
  answering.take({ calls });
  answering.end();
  await turns();
  assert.is(waiting(), 0);
});

test('what a caller has left never begins', async () => {
  const { answering, serve, waiting } = scene();
  serve();
  answering.take({ calls });
  answering.take({ left: numbers.slice(1) });
  await turns();
  assert.is(waiting(), 1);
  answering.end();
});

test.run();
