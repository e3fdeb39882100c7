/** Callers that leave, or are too slow, before their commands are decided: nothing is done, and nobody is alarmed. */
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Accounts, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import type { Faults } from '../support/memory-store/faults.ts';
import { sleep, until } from '../support/wait.ts';
import { seal } from './in-process.ts';
import { type AppScene, withApp } from './in-process-app.ts';
import { requestText } from './pipeline.ts';

const test = suite('callers that leave');

const SOON_MS = 2_000;

test('a request whose caller has left ends when its turn comes, and is no failure', async () => {
  let writes = 0;
  let release = (): void => {};
  const released = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined);
  });
  const faults: Faults = {
    before(method) {
      if (method !== 'append') return undefined;
      writes += 1;
      return released;
    },
  };
  await withApp(
    null,
    async ({ port, process, clock, failures, answered }) => {
      const accounts = new Accounts(process.store.accounts, seal(), () => clock.ms);
      const account = await accounts.create({ ...PLAIN_ACCOUNT, name: 'Merchant' });
      const ask = (externalRef: string) => {
        const socket = connect(port, '127.0.0.1');
        socket.write(requestText(account, 'POST', '/pix-in', { amount: 1_000, externalRef }));
        return socket;
      };
      const first = ask('first');
      await until(() => writes === 1, SOON_MS, 'a command on its way to the store');
      const leaving = ask('leaving');
      await until(() => process.engine.waitingCommands === 1, SOON_MS, 'a command that waits');
      leaving.destroy();
      await until(() => leaving.closed, SOON_MS);
      release();
      await until(() => answered.length === 2, SOON_MS, 'the end of both requests');
      assert.equal(answered.map(({ status }) => status).sort(), [201, 499]);
      assert.equal(failures, []);
      assert.is((await process.store.journal.head(account.accountId)).seq, 1);
      first.destroy();
    },
    faults,
  );
});

for (const [part, length] of [
  ['the first bytes', 40],
  ['all but the end of its body', -5],
] as const) {
  test(`a request of which ${part} had come when it was told that it took too long is not carried out`, async () => {
    const times = { requestMs: 300, headersMs: 200, lookMs: 50 };
    const run = async ({ port, process, clock, failures }: AppScene): Promise<void> => {
      const accounts = new Accounts(process.store.accounts, seal(), () => clock.ms);
      const account = await accounts.create({ ...PLAIN_ACCOUNT, name: 'Merchant' });
      const text = requestText(account, 'POST', '/pix-in', { amount: 1_000, externalRef: 'late' });
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      let got = '';
      socket.on('data', (chunk) => {
        got += chunk;
      });
      socket.write(text.slice(0, length));
      await until(() => got.includes('too long to arrive'), SOON_MS, 'the answer that it is late');
      socket.write(text.slice(length));
      await sleep(500);
      socket.destroy();
      assert.is(got.match(/HTTP\/1\.1 /g)?.length, 1, got);
      assert.is((await process.store.journal.head(account.accountId)).seq, 0);
      assert.equal(failures, []);
    };
    await withApp(null, run, {}, times);
  });
}

test.run();
