/**
 * The shop with a sandbox server of its own: npm run shop
 *
 * Ctrl+C ends both, and leaves nothing behind.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pixstate } from 'pixstate/client';
import { openSandbox, type Sandbox } from './sandbox.ts';
import { createShop } from './shop.ts';

let isEnding = false;
/** Ctrl+C, or the terminal's end. */
const end = new Promise<void>((resolve) => {
  // Not `once`: a second Ctrl+C would end this process before it has put everything away.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      isEnding = true;
      resolve();
    });
});

function open(server: Server, { baseUrl, account }: Sandbox): void {
  const { clientId, clientSecret, webhooks } = account;
  const pixstate = new Pixstate({ baseUrl, clientId, clientSecret });
  const shop = createShop({ pixstate, webhookSecret: webhooks[0]?.secret ?? '', isSandbox: true });
  server.on('request', shop.callback());
}

async function run(server: Server): Promise<void> {
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // Refunds have events for those URLs alone that name them.
  const sandbox = await openSandbox(`${address}/webhooks,pix-in.*,refund.*`);
  try {
    open(server, sandbox);
    console.log(`The shop is open: ${address} (Pixstate: ${sandbox.baseUrl}). Ctrl+C closes it.`);
    await Promise.race([end, sandbox.failed]);
  } finally {
    await sandbox.close();
  }
}

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
try {
  await run(server);
} catch (error) {
  // Ctrl+C during the start ends the command that was making the account.
  if (!isEnding) throw error;
} finally {
  server.closeAllConnections();
  server.close();
}
