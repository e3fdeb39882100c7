/** A browser before a proxy with TLS that signs people in: it gets in as who it is there, and not by our links. */
import { request } from 'node:http';
import { createServer, type Server as TlsServer } from 'node:https';
import * as assert from 'uvu/assert';
import { freePort } from '../../../scripts/mongod/ports.ts';
import { Certificates } from '../../support/bank/certificates.ts';
import { type Merchant, merchant } from '../../support/client.ts';
import { charge, told } from '../../support/flows.ts';
import { text } from '../../support/json.ts';
import { consoleReady, origin } from '../visitor.ts';
import { browserSuite, DESKTOP, forgive, openBrowser, type Stage, type Watched } from './stage.ts';

const ADDRESS = '127.0.0.5';
const NAME = 'ops.example';

/** Who is signed in at the proxy; null: nobody. */
interface SignedIn {
  user: string;
  groups: string;
}

/** A proxy as it should be: it takes these headers from nobody, and keeps the host's name. */
class SsoProxy {
  signedIn: SignedIn | null = null;
  readonly #certificates = new Certificates();
  readonly #server: TlsServer;

  constructor(adminPort: number) {
    const { cert, key } = this.#certificates.certificate(NAME);
    this.#server = createServer({ cert, key }, (asked, answer) => {
      const { 'x-forwarded-email': _, 'x-forwarded-groups': __, ...headers } = asked.headers;
      const { user, groups } = this.signedIn ?? {};
      const told = user === undefined ? {} : { 'x-forwarded-email': user, 'x-forwarded-groups': groups };
      const { method, url } = asked;
      const passed = request(
        {
          ...{ host: '127.0.0.1', port: adminPort, localAddress: ADDRESS, method, path: url },
          headers: { ...headers, ...told },
        },
        (response) => {
          answer.writeHead(response.statusCode ?? 502, response.headers);
          response.pipe(answer);
        },
      );
      passed.on('error', () => answer.destroy());
      asked.pipe(passed);
    });
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#certificates.remove();
  }
}

interface Scene {
  own: string;
  proxy: SsoProxy;
  shop: Merchant;
  /** A charge whose payer's document is masked for viewers. */
  id: string;
}

/** Puts a proxy before the console, and has a browser that knows it by its name. */
async function beforeProxy(
  { server }: Stage,
  work: (scene: Scene, watched: Watched) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const own = `https://${NAME}:${port}`;
  await server.restart({
    ...{ CONSOLE_ORIGIN: own, CONSOLE_PROXY: ADDRESS, CONSOLE_USER_HEADER: 'x-forwarded-email' },
    ...{ CONSOLE_GROUPS_HEADER: 'x-forwarded-groups', CONSOLE_OPERATORS: 'payments-ops' },
  });
  await consoleReady(server);
  const shop = await merchant(server);
  const customer = { name: 'Marina', document: { type: 'CPF', number: '12345678909' } };
  const id = text(await charge(shop, 9_900, { customer }), 'id');
  const proxy = new SsoProxy(server.adminPort);
  await proxy.listen(port);
  const args = [`--host-resolver-rules=MAP ${NAME} 127.0.0.1`];
  const watched = await openBrowser(own, DESKTOP, { args, ignoreHTTPSErrors: true });
  try {
    await work({ own, proxy, shop, id }, watched);
    await watched.close();
  } finally {
    await proxy.close();
  }
}

const EVA: SignedIn = { user: 'eva@ops.example', groups: 'payments-ops' };
const LEO: SignedIn = { user: 'leo@ops.example', groups: 'staff' };
const ANA: SignedIn = { user: 'ana@ops.example', groups: 'payments-ops' };

browserSuite('a browser before a proxy', (test) => {
  test('it gets in as who it is there, sees its role, and is told when that is over', async (stage) => {
    await beforeProxy(stage, async ({ own, proxy, id }, watched) => {
      const { page } = watched;
      await page.goto(`${own}/transactions/${id}`);
      await page.getByText('A proxy before this console signs people in').waitFor();
      assert.is(await page.locator('.command').count(), 0);
      proxy.signedIn = EVA;
      await page.getByRole('button', { name: 'Load again' }).click();
      await page.locator('.facts').waitFor();
      assert.is(await page.locator('.who').textContent(), 'operator');
      assert.match((await page.locator('.who').getAttribute('title')) ?? '', /^eva@ops\.example/);
      assert.is(await page.getByRole('button', { name: 'Sign out' }).count(), 0);
      await page.getByRole('button', { name: 'Reveal data' }).click();
      await page.getByText('12345678909').first().waitFor();
      assert.equal(await page.context().cookies(), []);
      proxy.signedIn = LEO;
      await page.reload();
      await page.locator('.facts').waitFor();
      assert.is(await page.locator('.who').textContent(), 'viewer');
      proxy.signedIn = null;
      await page.getByText('A proxy before this console signs people in').waitFor();
      // A link of ours does nothing here.
      await page.goto(`${own}/#k=00${'A'.repeat(43)}`);
      await page.getByText('A proxy before this console signs people in').waitFor();
      forgive(watched, 401);
    });
    assert.is((await fetch(`${origin(stage.server)}/`)).status, 200, 'the page itself is nobody’s secret');
  });

  test('who is made a viewer while a page is open sees it masked again, and live', async (stage) => {
    await beforeProxy(stage, async ({ own, proxy, shop, id }, watched) => {
      const { page } = watched;
      proxy.signedIn = EVA;
      await page.goto(`${own}/transactions/${id}`);
      await page.getByRole('button', { name: 'Reveal data' }).click();
      await page.getByText('12345678909').first().waitFor();
      proxy.signedIn = { ...EVA, groups: 'staff' };
      await told(shop, id, 'PAY');
      await page.locator('.state.lit[data-state=paid]').waitFor();
      assert.is(await page.locator('.who').textContent(), 'viewer');
      assert.is(await page.getByText('12345678909').count(), 0);
      assert.is(await page.getByRole('alert').filter({ hasText: /\S/ }).count(), 0);
      // What was an operator's to press is no more.
      assert.is(await page.locator('.acts button:not([aria-disabled=true])').count(), 0);
      const why = await page.locator('.acts button').first().getAttribute('title');
      assert.is(why, 'Only operators change anything. Groups at the proxy say who is one.');
      forgive(watched, 403);
    });
  });

  test('nothing is done in another name than the dialog shows', async (stage) => {
    await beforeProxy(stage, async ({ own, proxy, shop, id }, watched) => {
      const { page } = watched;
      await told(shop, id, 'PAY');
      proxy.signedIn = EVA;
      await page.goto(`${own}/transactions/${id}`);
      await page.locator('.chart [data-message=PROTEST].can').click();
      const dialog = page.locator('dialog.act[open]');
      await dialog.getByText('"eva@ops.example"').waitFor();
      await page.keyboard.type('the payer protests');
      // In another tab eva leaves, and ana signs in.
      proxy.signedIn = ANA;
      await page.keyboard.press('Enter');
      await dialog.getByText('You are signed in as ana@ops.example').waitFor();
      await dialog.getByText('"ana@ops.example"').waitFor();
      assert.is(await page.locator('.state.lit[data-state=paid]').count(), 1, 'nothing was done');
      await page.keyboard.press('Enter');
      await page.locator('dialog.act:not([open])').waitFor({ state: 'attached' });
      await page.locator('.state.lit[data-state=in_protest]').waitFor();
      await page.locator('.history').getByText('ana@ops.example').first().waitFor();
    });
  });
});
