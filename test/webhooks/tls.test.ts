/** Webhooks over TLS, by a server that trusts an authority of the test's. */
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { Certificates, type Pair } from '../support/bank/certificates.ts';
import { merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, deliveries } from '../support/flows.ts';
import { at, list, text } from '../support/json.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

interface TlsReceiver {
  url: string;
  /** Connections that were tried, handshakes that were done, and paths that were asked for. */
  tried: number;
  done: number;
  asked: string[];
  close(): void;
}

async function receiver({ cert, key }: Pair, isChunked: boolean): Promise<TlsReceiver> {
  const server = https.createServer({ cert, key }, (request, response) => {
    seen.asked.push(request.url ?? '');
    request.resume();
    request.on('end', () => (isChunked ? response.writeHead(200).end('ok') : response.end('ok')));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  const seen: TlsReceiver = { url: `https://localhost:${port}`, tried: 0, done: 0, asked: [], close };
  server.on('connection', () => {
    seen.tried += 1;
  });
  server.on('secureConnection', () => {
    seen.done += 1;
  });
  server.on('tlsClientError', () => {});
  return seen;
}

const { test, run } = fixtureSuite('webhooks over TLS', async (defer) => {
  const certificates = new Certificates();
  defer(() => certificates.remove());
  const authority = certificates.authority('receivers-authority');
  const known = certificates.certificate('known', { authority });
  const stranger = certificates.certificate('stranger');
  const [plain, chunked, strange] = await Promise.all([
    receiver(known, false),
    receiver(known, true),
    receiver(stranger, false),
  ]);
  for (const each of [plain, chunked, strange]) defer(() => each.close());
  const server = await startServer({ env: { NODE_EXTRA_CA_CERTS: authority.certFile } });
  defer(() => server.stop());
  return { server, plain, chunked, strange };
});

for (const manner of ['plain', 'chunked'] as const) {
  test(`${manner} answers are delivered to, over few connections`, async ({ server, ...receivers }) => {
    const to = receivers[manner];
    const client = await merchant(server, ['--webhook-url', `${to.url}/hook`]);
    for (let nth = 1; nth <= 6; nth += 1) {
      await charge(client);
      await until(() => to.asked.length === nth, 10_000, `webhook ${nth}`);
    }
    assert.equal(to.asked, Array(6).fill('/hook'));
    // The first one that is unusual closes its connection.
    assert.is(to.done, manner === 'plain' ? 1 : 2);
  });
}

test('a receiver whose certificate nobody knows gets not a byte of a request', async ({
  server,
  strange,
}) => {
  const client = await merchant(server, ['--webhook-url', `${strange.url}/hook`]);
  const id = text(await charge(client), 'id');
  const attempted = await until(
    async () => {
      const [delivery] = await deliveries(client, id);
      return delivery !== undefined && list(delivery, 'attempts').length > 1 && delivery;
    },
    10_000,
    'two attempts',
  );
  for (const attempt of list(attempted, 'attempts')) {
    assert.is(at(attempt, 'statusCode'), null);
    assert.is(at(attempt, 'error'), 'DEPTH_ZERO_SELF_SIGNED_CERT');
  }
  assert.ok(strange.tried > 1);
  assert.equal(strange.asked, []);
});

run();
