/** What goes astray on the way to a page, or between two of them: answers, pages of lists, sessions of other tabs. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { Merchant } from '../../support/client.ts';
import { expectStatus } from '../../support/expect.ts';
import { charge, told } from '../../support/flows.ts';
import { list, text } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { link, origin } from '../visitor.ts';
import { browserSuite, DESKTOP, type Look } from './stage.ts';

const ENGLISH: Look = { ...DESKTOP, language: 'en-GB' };
const CPF = '11144477735';
const CONFIRM = 'dialog.act button[type=submit]';

/** The next request to a path is done, and its answer is lost. */
async function loseAnswer(page: Page, path: string): Promise<void> {
  await page.route(
    path,
    async (route) => {
      await route.fetch();
      await route.abort('failed');
    },
    { times: 1 },
  );
}

async function adjustment(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Adjust the balance' }).click();
  await page.locator(CONFIRM).waitFor();
  await page.keyboard.type('deposit 123');
  await page.getByLabel('Amount in reais', { exact: false }).fill('100,00');
}

/** A charge with more entries than a page has, paid by somebody with a CPF. */
async function longLife(shop: Merchant): Promise<{ id: string; refund(count: number): Promise<void> }> {
  const id = text(await charge(shop, 100_000), 'id');
  await told(shop, id, 'PAY', { payer: { name: 'João', document: { type: 'CPF', number: CPF } } });
  const refund = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1)
      expectStatus(await shop.post(`/pix-in/${id}/refunds`, { amount: 1 }), 201);
  };
  await refund(30);
  await until(async () => {
    const refunds = list((await shop.get(`/pix-in/${id}/refunds`)).body, 'data');
    return refunds.every((each) => text(each, 'status') === 'completed');
  }, 20_000);
  return { id, refund };
}

async function shownJson(page: Page): Promise<string> {
  return (await page.locator('main').textContent()) ?? '';
}

async function shownNumbers(page: Page): Promise<number[]> {
  return [...(await shownJson(page)).matchAll(/"seq": (\d+)/g)].map(([, seq]) => Number(seq));
}

browserSuite('a browser whose answers go astray', (test) => {
  test('what may be done already stays what it was until its answer is known', async ({ shop, enter }) => {
    const watched = await enter(`/accounts/${shop.accountId}`, ENGLISH);
    const { page } = watched;
    watched.forgiven.push(/ERR_FAILED/);
    const before = await shop.balance();
    await loseAnswer(page, '**/adjust');
    await adjustment(page);
    await page.locator(CONFIRM).click();
    await page.getByText('Nobody knows').waitFor();
    assert.is(await shop.balance(), before + 10_000);
    assert.is(await page.locator('dialog.act .given').getAttribute('inert'), '');
    assert.is(await page.locator('dialog.act input[pattern]').last().getAttribute('readonly'), '');
    await page.locator(CONFIRM).click();
    await page
      .locator('dialog.act[open] form')
      .waitFor({ state: 'detached' })
      .catch(() => {});
    await until(async () => (await page.locator(`dialog.act[open] ${'.given'}`).count()) === 0, 10_000);
    assert.is(await shop.balance(), before + 10_000, 'the same once more is done once');
    await watched.close();
  });

  test('an act is signed by whoever is signed in, in whichever tab that was', async ({
    server,
    shop,
    enter,
  }) => {
    const watched = await enter(`/accounts/${shop.accountId}`, ENGLISH);
    const { page } = watched;
    const other = await page.context().newPage();
    const { url } = await link(server, ['--role', 'operator', '--by', 'joao']);
    await other.goto(url);
    await other.locator('main#content').waitFor();
    await page.bringToFront();
    await until(
      async () => (await page.locator('.who').getAttribute('title'))?.includes('joao') === true,
      10_000,
    );
    await adjustment(page);
    assert.match((await page.locator('dialog.act pre').textContent()) ?? '', '"joao"');
    await watched.close();
  });

  test('what is hidden again is gone, and no entry is missing between two pages', async ({ shop, enter }) => {
    const { id, refund } = await longLife(shop);
    const watched = await enter(`/transactions/${id}`, ENGLISH);
    const { page } = watched;
    const older = page.locator('main').getByRole('button', { name: 'Show older entries' });
    await page.getByRole('button', { name: /Reveal/ }).click();
    await older.click();
    await page.getByRole('link', { name: 'JSON' }).click();
    await until(async () => (await shownJson(page)).includes(CPF), 10_000, 'it is revealed');
    await page.getByRole('button', { name: /Hide/ }).click();
    await until(async () => !(await shownJson(page)).includes(CPF), 10_000, 'it is hidden');
    await page.getByRole('link', { name: 'Overview' }).click();
    await older.click();
    await page.getByRole('link', { name: 'JSON' }).click();
    const highest = Math.max(...(await shownNumbers(page)));
    await refund(5);
    await until(async () => Math.max(...(await shownNumbers(page))) >= highest + 5, 20_000, 'the news');
    await sleep(500);
    const shown = [...new Set(await shownNumbers(page))].sort((a, b) => b - a);
    const [first = 0] = shown;
    assert.equal(
      shown,
      Array.from({ length: shown.length }, (_, n) => first - n),
      'there is no hole',
    );
    await watched.close();
  });

  test('a page of a list comes once, and a failed one is told of', async ({ server, shop, enter }) => {
    await Promise.all(Array.from({ length: 130 }, (_, n) => charge(shop, 1_000 + n)));
    const watched = await enter('/transactions', ENGLISH);
    const { page } = watched;
    watched.forgiven.push(/ERR_FAILED/);
    const more = page.getByRole('button', { name: /Show more|Look further back/ });
    const shown = (): Promise<string[]> =>
      page
        .locator('main a[href^="/transactions/"]')
        .evaluateAll((all) => all.map((a) => a.getAttribute('href') ?? ''));
    await more.waitFor();
    const once = (await shown()).length;
    await more.dblclick();
    await until(async () => (await shown()).length > once, 10_000, 'the next page');
    await sleep(1_000);
    const twice = await shown();
    assert.is(new Set(twice).size, twice.length, 'each once');
    await page.goto(`${origin(server)}/transactions`);
    await more.waitFor();
    await page.route('**/console/api/transactions?*after=*', (route) => route.abort('failed'), { times: 1 });
    await more.click();
    await page.locator('main .trouble').waitFor();
    await more.click();
    await until(async () => (await shown()).length > once, 10_000, 'it can be tried again');
    await watched.close();
  });

  test('Enter opens what was found, though an arrow was pressed before it came', async ({ shop, enter }) => {
    const id = text(await charge(shop, 4_200), 'id');
    const watched = await enter('/transactions', ENGLISH);
    const { page } = watched;
    await page.keyboard.press('/');
    await page.keyboard.type(id);
    await page.keyboard.press('ArrowDown');
    await page.locator('[role=option]').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/transactions/${id}`);
    await watched.close();
  });

  test('a moment of another day shows its day', async ({ shop, enter }) => {
    const id = text(await charge(shop, 4_300), 'id');
    const watched = await enter(`/transactions/${id}`, ENGLISH);
    const { page } = watched;
    const shown = page.locator('.entry time').first();
    await shown.waitFor();
    assert.match((await shown.textContent()) ?? '', /^\d\d:\d\d:\d\d\.\d{3}$/);
    const later = new Date(Date.now() + 3 * 86_400_000).toUTCString();
    // The pages' clock follows the server's.
    await page.route(/\/console\/api\/(?!live)/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, headers: { ...answer.headers(), date: later } });
    });
    await page.reload();
    await shown.waitFor();
    assert.match((await shown.textContent()) ?? '', /^\d+ \w+( \d{4})? \d\d:\d\d:\d\d\.\d{3}$/);
    // Answers that are on their way still come to their end before the page is gone.
    await page.unrouteAll({ behavior: 'wait' });
    await watched.close();
  });

  test('the way back leads out of a dialog, and past each part of a time', async ({ shop, enter }) => {
    const account = `/accounts/${shop.accountId}`;
    const watched = await enter('/transactions', ENGLISH);
    const { page } = watched;
    await page.evaluate((to) => {
      history.pushState(null, '', to);
      dispatchEvent(new PopStateEvent('popstate'));
    }, account);
    const moment = page.locator('input[type=datetime-local]');
    for (const year of ['2024', '2025', '2026']) {
      await moment.fill(`${year}-11-20T10:00:00`);
      await page.waitForURL(`**?at=${year}-*`);
    }
    await page.goBack();
    await page.waitForURL(`**${account}`);
    await page.getByRole('button', { name: 'Adjust the balance' }).click();
    await page.locator(CONFIRM).waitFor();
    await page.goBack();
    await page.waitForURL('**/transactions');
    assert.is(await page.locator('dialog.act[open]').count(), 0);
    await watched.close();
  });
});
