/**
 * Pages that are open while the journal grows as fast as it can: what a tab holds is bounded, and no gap is unsaid. It
 * takes 60 seconds, or `FLOOD_S`.
 */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { charge } from '../../support/flows.ts';
import { text } from '../../support/json.ts';
import { until } from '../../support/wait.ts';
import { Listener } from '../listener.ts';
import { visitor } from '../visitor.ts';
import { browserSuite, type Stage } from './stage.ts';

const FLOOD_MS = Number(process.env.FLOOD_S ?? '60') * 1_000;
const MOST_HEAP = 80 * 1_048_576;
const MOST_ELEMENTS = 1_000;
const CLIENTS = 20;

/** What a tab holds once its garbage is collected: bytes of its scripts, and elements of its page. */
async function held(page: Page): Promise<{ heap: number; elements: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  await session.detach();
  const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
  return { heap, elements: await page.evaluate<number>('document.querySelectorAll("*").length') };
}

async function expectBounded(pages: Readonly<Record<string, Page>>, when: string): Promise<void> {
  for (const [name, page] of Object.entries(pages)) {
    const { heap, elements } = await held(page);
    console.log(`${when}: ${name} holds ${(heap / 1_048_576).toFixed(1)} MB, ${elements} elements`);
    assert.ok(heap < MOST_HEAP, `${name}: ${heap} bytes`);
    assert.ok(elements <= MOST_ELEMENTS, `${name}: ${elements} elements`);
  }
}

/** Makes charges as fast as they are taken; how many. */
async function flood({ shop }: Stage): Promise<number> {
  const end = performance.now() + FLOOD_MS;
  let made = 0;
  const make = async (): Promise<void> => {
    while (performance.now() < end) {
      await charge(shop, 9_000, { externalRef: `pedido-${made}` });
      made += 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, make));
  return made;
}

browserSuite('a browser in a flood', (test) => {
  test('tabs stay small, each entry is told or counted, and the end is shown', async (stage) => {
    const now = await stage.enter('/');
    const list = await stage.enter('/transactions');
    const held = await stage.enter('/transactions');
    await now.page.locator('.feed .dot.lit').waitFor();
    for (const { page } of [list, held]) await page.locator('.freshness .live').waitFor();
    await held.page.keyboard.press('p');
    await held.page.locator('.freshness .paused').waitFor();
    const { headers } = await visitor(stage.server);
    const listener = await Listener.greeted(stage.server, headers);
    const pages = { Now: now.page, transactions: list.page, 'a paused list': held.page };
    const flooding = flood(stage);
    await new Promise((resolve) => setTimeout(resolve, FLOOD_MS / 2));
    await expectBounded(pages, 'halfway');
    const made = await flooding;
    console.log(`${made} charges, ${Math.round(made / (FLOOD_MS / 1_000))} a second`);
    const last = text(await charge(stage.shop, 77_123), 'id');
    await list.page.locator(`.list tbody tr:first-child [href$="${last}"]`).waitFor({ timeout: 15_000 });
    await now.page.locator('.feed').getByText('R$\u00a0771,23').waitFor({ timeout: 15_000 });
    // More than it counts: it says that there are more.
    await held.page.getByRole('button', { name: /\d\+ new/ }).waitFor();
    await until(
      async () => listener.rows.length + listener.missed === made + 1,
      15_000,
      `${made + 1} entries are told or counted`,
    );
    for (const { page } of [now, list, held]) assert.is(await page.locator('.trouble').count(), 0);
    await expectBounded(pages, 'afterwards');
    listener.close();
    for (const watched of [now, list, held]) await watched.close();
  });
});
