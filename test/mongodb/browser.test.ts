/** A browser before a console whose database goes away: it says so, and what came meanwhile is there afterwards. */
import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BROWSER, DESKTOP, enterBy, forgive, openBrowser } from '../console/browser/stage.ts';
import { consoleReady, origin } from '../console/visitor.ts';
import { merchant } from '../support/client.ts';
import { charge, told } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { freshDatabase, withMongod } from '../support/mongodb.ts';
import { startOn, untilReady } from './stage.ts';

const test = suite('a browser, and the database away');

/** The driver notices, and the stream ends. */
const NOTICED_MS = 20_000;
const BACK_MS = 30_000;

async function live(page: Page): Promise<void> {
  await page.locator('.freshness .live').waitFor();
}

if (!existsSync(BROWSER)) {
  test(`no browser at ${BROWSER}`, () => {
    assert.is.not(process.env.BROWSER_REQUIRED, '1', `${BROWSER} is required, and isn't there`);
    console.log(`SKIPPED: it needs a browser at ${BROWSER}`);
  });
} else {
  test('an amber line says so, and the page is read afresh once it is back', async () => {
    await withMongod({ members: 1 }, async (mongod) => {
      const { uri } = await freshDatabase(mongod.uri);
      const server = await startOn(uri, { CONSOLE: 'on' });
      try {
        await consoleReady(server);
        const shop = await merchant(server, ['--name', 'Loja Aurora']);
        const id = text(await charge(shop, 20_000), 'id');
        const pages = [];
        for (const path of ['/transactions', `/transactions/${id}`]) {
          const watched = await openBrowser(origin(server), DESKTOP);
          await enterBy(watched, server, 'operator', path);
          await live(watched.page);
          pages.push(watched);
        }
        const [list, one] = pages.map(({ page }) => page) as [Page, Page];
        await mongod.kill(0);
        for (const page of [list, one]) {
          await page.locator('.trouble').waitFor({ timeout: NOTICED_MS });
          // What was there stays to be read.
          assert.ok((await page.getByText(/200,00/).count()) > 0);
          assert.is(await page.locator('.freshness .live').count(), 0);
        }
        await mongod.restart(0);
        await untilReady(server, BACK_MS);
        // Before any page listens again, or while it begins to.
        await told(shop, id, 'PAY');
        const made = text(await charge(shop, 7_700), 'id');
        await list.locator(`.list tbody tr:first-child [href$="${made}"]`).waitFor({ timeout: BACK_MS });
        await one.locator('.state.lit[data-state="paid"]').waitFor({ timeout: BACK_MS });
        for (const page of [list, one]) {
          await live(page);
          await page.locator('.trouble').waitFor({ state: 'detached' });
        }
        const last = text(await charge(shop, 7_800), 'id');
        await list.locator(`.list tbody tr:first-child [href$="${last}"]`).waitFor();
        for (const watched of pages) {
          forgive(watched, 503);
          await watched.close();
        }
      } finally {
        await server.stop();
      }
    });
  });
}

test.run();
