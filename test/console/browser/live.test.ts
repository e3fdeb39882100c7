/** Pages that are open while things happen: what comes is shown without a reload, where a reader is not disturbed. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { merchant } from '../../support/client.ts';
import { charge, told } from '../../support/flows.ts';
import { text } from '../../support/json.ts';
import { startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/wait.ts';
import { origin } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite, forgive, type Stage, type Watched } from './stage.ts';

function addressOf(id: string): string {
  return `/transactions/${id}`;
}

/** No page that is live reads by itself so soon: what is seen by then came by the stream. */
const LATE_MS = 8_000;

async function live(page: Page): Promise<void> {
  await page.locator('.freshness .live').waitFor();
}

/** How many documents a page has asked for. */
function counted(page: Page, path: RegExp): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (path.test(new URL(request.url()).pathname)) count += 1;
  });
  return () => count;
}

/** The ids of the list's rows. */
function listed(page: Page): Promise<string[]> {
  return page
    .locator('.list tbody [data-row]')
    .evaluateAll((links) =>
      links.map((link) => (link as unknown as { pathname: string }).pathname.slice(-36)),
    );
}

/** Waits until the list begins with a transaction. */
async function leads(page: Page, id: string, timeout = LATE_MS): Promise<void> {
  await page.locator(`.list tbody tr:first-child [href$="${id}"]`).waitFor({ timeout });
}

/** Enough rows that the list is longer than the window. */
async function fill({ shop }: Stage, count = 60): Promise<void> {
  for (let made = 0; made < count; made++) await charge(shop, 5_000 + made * 100);
}

browserSuite('a browser hears what comes', (test) => {
  /** A charge with the shortest time that there is, on a page that is open during the other tests. */
  let expiring: Watched;
  test.before(async (stage) => {
    const id = text(await charge(stage.shop, 20_000, { expiresIn: 60 }), 'id');
    expiring = await stage.enter(addressOf(id));
    await expiring.page.getByRole('timer').waitFor();
  });

  test('a payment comes to an open page: chart, history, balance and delivery', async (stage) => {
    const receiver = await startReceiver();
    const shop = await merchant(stage.server, [
      '--name',
      'Loja Viva',
      '--webhook-url',
      receiver.url('/hook'),
    ]);
    const id = text(await charge(shop, 20_000), 'id');
    const watched = await stage.enter(addressOf(id));
    const { page } = watched;
    await page.locator('.state.lit[data-state="waiting_payment"]').waitFor();
    await live(page);
    await page.getByRole('timer').waitFor();
    receiver.answer('/hook', () => ({ status: 503 }));
    await told(shop, id, 'PAY');
    await page.locator('.state.lit[data-state="paid"]').waitFor({ timeout: LATE_MS });
    await page.locator('.history .message', { hasText: 'PAY' }).waitFor({ timeout: LATE_MS });
    await page.locator('.history').getByText('balance after').first().waitFor({ timeout: LATE_MS });
    assert.is(await page.getByRole('timer').count(), 0, 'its timer is gone');
    const delivery = page.locator('.deliveries li', { hasText: 'pix-in.paid' });
    await delivery.locator('.result code', { hasText: '503' }).waitFor({ timeout: 5_000 });
    receiver.answer('/hook', () => ({ status: 200 }));
    await delivery.locator('.chip.good').waitFor({ timeout: 10_000 });
    await watched.close();
    await receiver.close();
  });

  test('a page that rests asks for nothing', async (stage) => {
    const id = text(await charge(stage.shop, 20_000), 'id');
    const watched = await stage.enter(addressOf(id));
    const { page } = watched;
    await live(page);
    await page.waitForTimeout(1_000);
    const asked = counted(page, /\/transactions\//);
    await page.waitForTimeout(4_000);
    assert.is(asked(), 0);
    await watched.close();
  });

  test('a page whose browser is back on a network opens its stream again, and reads what it missed', async (stage) => {
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await live(page);
    const [streams, lists] = [counted(page, /\/live$/), counted(page, /\/transactions$/)];
    await page.evaluate("dispatchEvent(new Event('online'))");
    await until(async () => streams() === 1 && lists() > 0, LATE_MS, 'it is opened again');
    await live(page);
    await leads(page, text(await charge(stage.shop, 7_300), 'id'));
    await watched.close();
  });

  test('new rows come in at the top of a list, and wait for whoever reads further down', async (stage) => {
    await fill(stage);
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await live(page);
    const first = text(await charge(stage.shop, 7_100), 'id');
    await leads(page, first);
    assert.ok((await page.locator('.list tr.arrived').count()) > 0, 'it slides in');
    await page.evaluate('scrollTo(0, 600)');
    await page.waitForTimeout(300);
    const before = await listed(page);
    const made: string[] = [];
    for (let count = 0; count < 12; count++)
      made.push(text(await charge(stage.shop, 8_000 + count * 100), 'id'));
    const waiting = page.getByRole('button', { name: '12 new' });
    await waiting.waitFor({ timeout: LATE_MS });
    assert.equal(await listed(page), before, 'nothing moves');
    await waiting.click();
    await leads(page, made.at(-1) ?? '');
    assert.is(await page.evaluate('scrollY'), 0);
    assert.is(await waiting.count(), 0);
    await watched.close();
  });

  test('a list that was read further holds still, and begins anew where asked to', async (stage) => {
    await fill(stage);
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await live(page);
    await page.locator('.more button').click();
    await page.locator('.list tbody tr').nth(60).waitFor();
    const id = text(await charge(stage.shop, 7_100), 'id');
    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('button', { name: '1 new' }).click();
    await leads(page, id);
    await watched.close();
  });

  test('p holds a page still until it is pressed again; a filter counts its own', async (stage) => {
    const watched = await stage.enter('/transactions?type=cashout');
    const { page } = watched;
    await live(page);
    await page.keyboard.press('p');
    await page.locator('.freshness .paused').waitFor();
    await charge(stage.shop, 7_000);
    const sent = await stage.shop.post('/cashout', {
      ...{ amount: 1_007, pix: { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' } },
    });
    const id = text(sent.body, 'id');
    await page.getByRole('button', { name: '1 new' }).waitFor({ timeout: LATE_MS });
    assert.not.ok((await listed(page)).includes(id));
    await page.keyboard.press('p');
    await leads(page, id);
    await live(page);
    await watched.close();
  });

  test('a family of states and times are chosen, and stand in the address', async (stage) => {
    const protested = text(await charge(stage.shop, 6_600), 'id');
    await told(stage.shop, protested, 'PAY');
    await told(stage.shop, protested, 'PROTEST');
    const open = text(await charge(stage.shop, 6_700), 'id');
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await page.locator(`[href$="${open}"]`).waitFor();
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'All: Need care' });
    await leads(page, protested);
    assert.not.ok((await listed(page)).includes(open));
    assert.ok(new URL(page.url()).search.includes('family=care'));
    await page.getByLabel('Created from').fill('2120-01-01T00:00:00');
    await page.getByText('No transactions with these filters.').waitFor();
    await page.getByRole('button', { name: 'Any time' }).click();
    await leads(page, protested);
    // A state takes the place of the family.
    await page.getByLabel('State', { exact: true }).selectOption('waiting_payment');
    await leads(page, open);
    assert.is(new URL(page.url()).search, '?status=waiting_payment');
    // What is made later than what is asked for isn't news.
    await page.goto(`${origin(stage.server)}/transactions?to=2026-01-01T00%3A00%3A00Z`);
    await page.getByText('No transactions with these filters.').waitFor();
    await live(page);
    await charge(stage.shop, 6_800);
    await page.waitForTimeout(1_500);
    assert.is(await page.locator('.list').count(), 0);
    await watched.close();
  });

  test("an account's balance and statement follow", async (stage) => {
    const id = text(await charge(stage.shop, 20_000), 'id');
    const watched = await stage.enter(`/accounts/${stage.shop.accountId}`);
    const { page } = watched;
    await live(page);
    await page.locator('.list.statement').waitFor();
    await told(stage.shop, id, 'PAY');
    await page.locator(`.list.statement tr:first-child [href$="${id}"]`).waitFor({ timeout: LATE_MS });
    // Whoever reads further down is told what waits, though the account itself is read again.
    await page.setViewportSize({ width: 1280, height: 400 });
    await page.evaluate('scrollTo(0, 300)');
    const next = text(await charge(stage.shop, 20_000), 'id');
    await told(stage.shop, next, 'PAY');
    const waiting = page.getByRole('button', { name: '1 new' });
    await waiting.waitFor({ timeout: LATE_MS });
    await page.waitForTimeout(2_500);
    await waiting.click();
    await page.locator(`.list.statement tr:first-child [href$="${next}"]`).waitFor({ timeout: LATE_MS });
    await watched.close();
  });

  test('a flood is read a page at a time, and leaves no more behind than that', async (stage) => {
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await live(page);
    const asked = counted(page, /\/api\/transactions$/);
    const started = Date.now();
    const flood = async (): Promise<void> => {
      for (let count = 0; count < 100; count++) await charge(stage.shop, 9_000);
    };
    await Promise.all(Array.from({ length: 20 }, flood));
    const last = text(await charge(stage.shop, 9_900), 'id');
    await leads(page, last);
    const seconds = (Date.now() - started) / 1_000;
    assert.ok(asked() <= seconds + 2, `${asked()} readings in ${seconds} s`);
    assert.is((await listed(page)).length, 50);
    const heap = await page.evaluate<number>('performance.memory.usedJSHeapSize');
    assert.ok(heap < 80 * 1_048_576, `${heap} bytes`);
    await watched.close();
  });

  test('axe finds nothing while a page is paused, and rows wait', async (stage) => {
    for (const look of LOOKS) {
      const watched = await stage.enter('/transactions', look);
      const { page } = watched;
      await live(page);
      await page.locator('.list tbody tr').first().waitFor();
      await page.keyboard.press('p');
      await charge(stage.shop, 7_000);
      await page.locator('.waiting').waitFor();
      await check(watched, `paused ${Object.values(look).join(' ')}`);
      await watched.close();
    }
  });

  test('a countdown ends, and the chart says expired', async () => {
    const { page } = expiring;
    await page.locator('.state.lit[data-state="expired"]').waitFor({ timeout: 65_000 });
    await page.locator('.history .message', { hasText: 'EXPIRE' }).waitFor();
    assert.is(await page.getByRole('timer').count(), 0);
    await expiring.close();
  });
});

/** What a server that is away makes a browser's console say. */
function forgiveAway(watched: Watched): void {
  watched.forgiven.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY/);
  forgive(watched, 503);
}

browserSuite('a browser before a server that restarts', (test) => {
  test('an amber line says so, and what came meanwhile is there afterwards', async (stage) => {
    const { server, shop } = stage;
    const id = text(await charge(shop, 20_000), 'id');
    const watched = await stage.enter(addressOf(id));
    const list = await stage.enter('/transactions');
    for (const { page } of [watched, list]) await live(page);
    await server.terminate();
    for (const { page } of [watched, list]) await page.locator('.trouble').waitFor({ timeout: 5_000 });
    await server.restart();
    await told(shop, id, 'PAY');
    const made = text(await charge(shop, 7_700), 'id');
    await watched.page.locator('.state.lit[data-state="paid"]').waitFor({ timeout: 10_000 });
    await leads(list.page, made, 10_000);
    for (const { page } of [watched, list]) {
      await live(page);
      await page.locator('.trouble').waitFor({ state: 'detached' });
    }
    const last = text(await charge(shop, 7_800), 'id');
    await leads(list.page, last);
    for (const each of [watched, list]) {
      forgiveAway(each);
      await each.close();
    }
  });
});
