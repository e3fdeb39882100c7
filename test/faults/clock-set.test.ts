/** Somebody sets the wall clock, or it was wrong: nothing waits for a wrong time to come, and ops are told. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, deliveries, reaches, transfer } from '../support/flows.ts';
import { at, list, text } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { expectVerified } from './scene.ts';

const HOUR_MS = 3_600_000;
const STEP = ['--import', './test/faults/shifted-date.js', 'dist/src/main.js'];
const PATIENCE_MS = 20_000;
// The database's clock counts where there is one, and nobody here can set that.
const EMBEDDED = { MONGODB_URI: '', STUCK_AFTER_S: '1', SANDBOX_DELAY_MS: '500' };
const test = suite('a clock that is set');

async function withClock(offsets: number[], work: (server: Server) => Promise<void>): Promise<void> {
  const env = { ...EMBEDDED, CLOCK_OFFSETS: offsets.join(',') };
  const server = await startServer({ env, entry: STEP });
  try {
    await work(server);
    await expectVerified(server);
  } finally {
    await server.stop();
  }
}

/** A charge that expires, one that is paid, and a transfer that completes. */
interface Work {
  expires: string;
  paid: string;
  completes: string;
}

async function begun(account: Merchant): Promise<Work> {
  return {
    expires: text(await charge(account, 1_000), 'id'),
    paid: text(await charge(account, 1_001), 'id'),
    completes: text(await transfer(account, 1_000), 'id'),
  };
}

async function expectDone(account: Merchant, { expires, paid, completes }: Work): Promise<void> {
  await Promise.all([
    reaches(account, 'pix-in', expires, 'expired', PATIENCE_MS),
    reaches(account, 'pix-in', paid, 'paid', PATIENCE_MS),
    reaches(account, 'cashout', completes, 'completed', PATIENCE_MS),
  ]);
}

async function kinds(server: Server): Promise<string[]> {
  return list(await cliJson(server, ['attention']), 'items').map((item) => text(item, 'kind'));
}

test('back by an hour: jobs, orders, expiries and webhooks go on', async () => {
  const receiver = await startReceiver();
  receiver.answer('/hook', (nth) => ({ status: nth === 1 ? 500 : 200 }));
  try {
    await withClock([0, -HOUR_MS], async (server) => {
      const args = ['--expires-in', '1', '--balance', '100000', '--webhook-url', receiver.url('/hook')];
      const account = await merchant(server, args);
      const before = await begun(account);
      process.kill(server.pid, 'SIGUSR2');
      const after = await begun(account);
      await expectDone(account, before);
      await expectDone(account, after);
      await until(
        async () =>
          (await deliveries(account, before.expires)).every((each) => at(each, 'status') === 'delivered'),
        PATIENCE_MS,
        'every webhook is delivered',
      );
      assert.match(server.stderr() + server.stdout(), /the clock was set back by 3600 s/);
    });
  } finally {
    await receiver.close();
  }
});

test('an hour ahead for a while: what was begun then ends now, and the account is noted', async () => {
  await withClock([HOUR_MS, 0, 0], async (server) => {
    const account = await merchant(server, ['--expires-in', '1', '--balance', '100000']);
    const silent = text(await transfer(account, 1_007), 'id');
    const before = await begun(account);
    process.kill(server.pid, 'SIGUSR2');
    const after = await begun(account);
    await expectDone(account, before);
    await expectDone(account, after);
    await until(async () => (await kinds(server)).includes('clock'), PATIENCE_MS, 'the account is noted');
    const metrics = async (): Promise<string> =>
      (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
    await until(
      async () => /pixstate_attention_items\{kind="stuck"\} 1\n/.test(await metrics()),
      PATIENCE_MS,
      'a silent transfer is stuck, whatever time it bears',
    );
    assert.ok(silent.length > 0);
  });
});

test('an hour ahead in a former process: what was left ends after the start', async () => {
  await withClock([HOUR_MS], async (server) => {
    const account = await merchant(server, ['--expires-in', '1', '--balance', '100000']);
    const before = await begun(account);
    await server.restart({ CLOCK_OFFSETS: '0' });
    const after = await begun(account);
    await expectDone(account, before);
    await expectDone(account, after);
    assert.ok((await kinds(server)).includes('clock'));
  });
});

test.run();
