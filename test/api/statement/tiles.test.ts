/** Statements of which each begins where the one before ended, while others write. */
import { merchant } from '../../support/client.ts';
import { fixtureSuite } from '../../support/fixture.ts';
import { startServer } from '../../support/server.ts';
import { expectTiles } from '../../support/statement.ts';

const { test, run } = fixtureSuite('statement/tiles', async (defer) => {
  const server = await startServer({ env: { SANDBOX_DELAY_MS: '20' } });
  defer(() => server.stop());
  return { client: await merchant(server, ['--balance', '1000000']) };
});

test('windows without an end tell of each row once, and open with what the one before closed with', async ({
  client,
}) => {
  await expectTiles([client]);
});

run();
