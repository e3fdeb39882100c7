/** A callback's messages are taken in time for its answer: what was done is told, and the rest is `later`. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiOptions, createApp } from '../../src/api/app.ts';
import type { CommandOptions } from '../../src/api/context.ts';
import { turn } from '../../src/waiting.ts';
import { fetchReply, type Reply } from '../support/client.ts';
import { type Json, list, text } from '../support/json.ts';
import { callbackSecret, sign } from '../support/signature.ts';
import { until } from '../support/wait.ts';

const s = suite('late callbacks');

type Tell = (id: string, options: CommandOptions) => Promise<void>;

/** The API over an engine that takes its time, on a clock that only `pass` moves. */
async function withApi(
  tell: (pass: (ms: number) => void) => Tell,
  body: (post: (messages: Json) => Promise<Reply>) => Promise<void>,
): Promise<void> {
  let now = 0;
  const telling = tell((ms) => {
    now += ms;
  });
  const options = {
    state: { opened: true, draining: false, closing: false },
    elapsed: () => now,
    patienceMs: 0,
    now: Date.now,
    newRequestId: () => 'request',
    onFailure: () => {},
    trustedProxyHops: 0,
    sandbox: true,
    bankCallbackSecret: callbackSecret,
    journal: { transaction: async (id: string) => ({ id }) },
    payments: {
      async tell(_: unknown, { id }: { id: string }, __: unknown, command: CommandOptions) {
        await telling(id, command);
        return { kind: 'applied' };
      },
    },
  } as unknown as ApiOptions;
  const server = createServer(createApp(options).callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/bank/callbacks`;
  try {
    await body((messages) => {
      const sent = JSON.stringify(messages);
      const timestamp = String(Math.floor(Date.now() / 1_000));
      return fetchReply('POST', url, sent, {
        'content-type': 'application/json',
        'webhook-id': 'msg_1',
        'webhook-timestamp': timestamp,
        'webhook-signature': sign(callbackSecret, 'msg_1', timestamp, sent),
      });
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function messages(...ids: string[]): Json {
  return ids.map((id) => ({ id, transactionId: 'one', type: 'CANCEL' }));
}

function results({ status, body }: Reply): string[] {
  assert.is(status, 200, JSON.stringify(body));
  return list(body).map((result) => `${text(result, 'id')} ${text(result, 'result')}`);
}

s('what is not begun in time is later, and what was applied before is told', async () => {
  const told: string[] = [];
  const slowly = (pass: (ms: number) => void): Tell => {
    return async (id) => {
      told.push(id);
      pass(10_000);
    };
  };
  await withApi(slowly, async (post) => {
    const reply = await post(messages('a', 'b', 'c', 'd', 'e'));
    assert.equal(results(reply), ['a applied', 'b applied', 'c applied', 'd later', 'e later']);
    assert.equal(told, ['a', 'b', 'c']);
  });
});

s('what is under way when the time is up is later, and dropped if it is not decided', async () => {
  let isAbandoned: (() => boolean) | undefined;
  const hanging = (pass: (ms: number) => void): Tell => {
    return async (id, { abandoned }) => {
      if (id === 'a') return pass(26_900);
      assert.not(abandoned());
      isAbandoned = abandoned;
      pass(100);
      await new Promise(() => {});
    };
  };
  await withApi(hanging, async (post) => {
    const reply = await post(messages('a', 'b', 'c'));
    assert.equal(results(reply), ['a applied', 'b later', 'c later']);
    assert.is(isAbandoned?.(), true);
  });
});

s('so many of a request are under way at once, and the answer is in the order of its messages', async () => {
  const ids = [...Array(80).keys()].map((nth) => `m${nth}`);
  const underWay: (() => void)[] = [];
  let most = 0;
  const slowly = (): Tell => async () => {
    await new Promise<void>((resolve) => {
      underWay.push(resolve);
      most = Math.max(most, underWay.length);
    });
  };
  await withApi(slowly, async (post) => {
    const reply = post(ids.map((id) => ({ id, transactionId: `of ${id}`, type: 'CANCEL' })));
    let isAnswered = false;
    void reply.then(() => {
      isAnswered = true;
    });
    await until(() => underWay.length === 32, 5_000, 'the first ones');
    while (!isAnswered) {
      // The last ones end first.
      underWay.pop()?.();
      await turn();
    }
    assert.equal(
      results(await reply),
      ids.map((id) => `${id} applied`),
    );
  });
  assert.is(most, 32);
});

s.run();
