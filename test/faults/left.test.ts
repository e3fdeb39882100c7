/** Callers that leave before their commands are decided: nothing is done, and nobody is alarmed. */
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Accounts, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import type { Faults } from '../support/memory-store/faults.ts';
import { until } from '../support/wait.ts';
import { seal } from './in-process.ts';
import { withApp } from './in-process-app.ts';
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

test.run();
