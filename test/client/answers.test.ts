/** What the client takes an answer for that isn't the API's, or says more than it knows. */
import * as assert from 'uvu/assert';
import { Pixstate } from '../../src/client/pixstate.ts';
import { merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { startServer } from '../support/server.ts';
import { failure } from './failure.ts';
import { startFront } from './front.ts';

const { test, run } = fixtureSuite('client/answers', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const front = await startFront(server.port);
  defer(() => front.close());
  const { clientId, clientSecret } = await merchant(server, ['--balance', '1000000']);
  return { front, pixstate: new Pixstate({ baseUrl: front.url, clientId, clientSecret }) };
});

const pix = { pixKeyType: 'EMAIL', pixKey: 'Maria@Example.com' } as const;

test("what isn't the API's is told apart, and a redirect isn't followed", async ({ front, pixstate }) => {
  for (const fate of [
    { status: 200, body: '<html>a portal</html>' },
    { status: 302, headers: { location: '/v1/balance' }, body: '' },
    { status: 403, body: '<html>a firewall</html>' },
    { status: 403, body: '{"error": 7}' },
  ]) {
    front.next(fate);
    const error = await failure(pixstate.pixIn.create({ amount: 1_000, idempotencyKey: 'portal' }));
    assert.is(error.code, 'UNEXPECTED_ANSWER');
    assert.is(error.httpStatus, fate.status);
    assert.is(error.outcomeUnknown, fate.status < 400);
    assert.is(front.seen.length, 1);
  }
});

test('an error object takes the place of nothing that the client knows', async ({ front, pixstate }) => {
  const told =
    '"name": "TypeError", "code": 5, "httpStatus": 1, "attempts": 9, "outcomeUnknown": false, "stack": ""';
  front.next({
    status: 503,
    body: `{"error": "LATER", "message": "No.", ${told}, "__proto__": {}, "until": "noon"}`,
  });
  const error = await failure(pixstate.cashout.create({ amount: 1_000, pix }));
  const { name, code, httpStatus, attempts, outcomeUnknown } = error;
  assert.equal([name, code, httpStatus, attempts, outcomeUnknown], ['PixstateError', 'LATER', 503, 1, true]);
  assert.match(error.stack ?? '', /PixstateError|No\./);
  assert.is((error as { until?: string }).until, 'noon');
});

run();
