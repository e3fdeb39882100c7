/** Every page in both themes and languages, wide and at 320 px: nothing runs over, and axe finds nothing. By keys alone. */
import * as assert from 'uvu/assert';
import { charge, told, transfer } from '../../support/flows.ts';
import { text } from '../../support/json.ts';
import { until } from '../../support/wait.ts';
import { origin } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite, enterBy, forgive, type Stage } from './stage.ts';

/** Transactions that show most of what a page can have. */
async function prepare({ shop }: Stage): Promise<{ protested: string; waiting: string; sent: string }> {
  const protested = text(
    await charge(shop, 18_900, {
      externalRef: 'pedido-20610',
      description: 'Pedido 10',
      customer: { name: 'Marina Lopes' },
    }),
    'id',
  );
  await told(shop, protested, 'PAY');
  await told(shop, protested, 'PROTEST');
  const waiting = text(await charge(shop, 12_300), 'id');
  const sent = text(await transfer(shop, 5_207), 'id');
  return { protested, waiting, sent };
}

browserSuite("a browser's pages", (test) => {
  test('axe finds nothing, and nothing runs over', async (stage) => {
    const { protested, waiting, sent } = await prepare(stage);
    const pages: [string, string][] = [
      ['list', '/transactions'],
      ['filtered', '/transactions?type=cashout&status=expired'],
      ['of a time', '/transactions?family=care&from=2026-01-01T00%3A00%3A00Z&to=2126-01-01T00%3A00%3A00Z'],
      ['protested', `/transactions/${protested}`],
      ['waiting', `/transactions/${waiting}`],
      ['sent', `/transactions/${sent}`],
      ['json', `/transactions/${protested}?tab=json`],
      ['sessions', '/sessions'],
      ['nothing', '/nowhere'],
    ];
    for (const look of LOOKS) {
      const watched = await stage.enter('/transactions', look);
      const { page } = watched;
      for (const [name, path] of pages) {
        await page.goto(origin(stage.server) + path);
        await page.locator('#content h1').waitFor();
        await check(watched, `${name} ${Object.values(look).join(' ')}`);
      }
      await watched.close();
    }
  });

  test('nor on the sign-in page, the list of keys, and what was found', async (stage) => {
    await prepare(stage);
    for (const look of LOOKS) {
      const name = Object.values(look).join(' ');
      const watched = await stage.open(look);
      await watched.page.goto(origin(stage.server));
      await watched.page.locator('.sign-in h1').waitFor();
      await check(watched, `sign-in ${name}`);
      forgive(watched, 401);
      await watched.close();
      const inside = await stage.enter('/transactions', look);
      await inside.page.keyboard.press('?');
      await inside.page.locator('dialog[open]').waitFor();
      await check(inside, `keys ${name}`);
      await inside.page.keyboard.press('Escape');
      await inside.page.keyboard.press('/');
      await inside.page.keyboard.insertText('pedido-20610');
      await inside.page.locator('.hit').first().waitFor();
      await check(inside, `found ${name}`);
      await inside.close();
    }
  });

  test('a reader by keys alone finds, opens, scrubs and goes back', async (stage) => {
    await prepare(stage);
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await page.locator('[data-row]').first().waitFor();
    const focused = () => page.evaluate<string | null>("document.activeElement.getAttribute('href')");
    await page.keyboard.press('j');
    const first = await focused();
    await page.keyboard.press('j');
    const second = await focused();
    assert.is.not(second, first);
    await page.keyboard.press('k');
    assert.is(await focused(), first);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${first}`);
    await page.locator('.state.lit').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.waitForURL('**/transactions');
    // What is typed right after the key arrives in the box, letter by letter.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('pedido-20610');
    assert.is(await page.getByRole('combobox').first().inputValue(), 'pedido-20610');
    await watched.close();
  });

  test('a page whose script comes late takes the place of no other', async (stage) => {
    const watched = await stage.open();
    const { page } = watched;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = false;
    await page.route('**/transactions-*.js', async (route) => {
      asked = true;
      await held;
      await route.continue();
    });
    await enterBy(watched, stage.server, 'operator', '/transactions');
    await until(() => asked, 20_000, "the page's script is asked for");
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByRole('searchbox').waitFor();
    const late = page.waitForResponse('**/transactions-*.js');
    release();
    await (await late).finished();
    // Time for it to run, and to show what it would show.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)))');
    assert.is(await page.getByRole('heading', { level: 1 }).textContent(), 'Accounts');
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { level: 1, name: 'Transactions' }).waitFor();
    await watched.close();
  });

  test("a page whose script can't be had says so, and is tried again when it is opened again", async (stage) => {
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await page.getByRole('heading', { level: 1, name: 'Transactions' }).waitFor();
    await page.route('**/accounts-*.js', (route) => route.fulfill({ status: 404 }));
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await page.unroute('**/accounts-*.js');
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { level: 1, name: 'Transactions' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByRole('searchbox').waitFor();
    forgive(watched, 404);
    await watched.close();
  });

  test('an operator reveals, a viewer is told why not', async (stage) => {
    const id = text(
      await charge(stage.shop, 9_900, {
        customer: { name: 'Marina', document: { type: 'CPF', number: '12345678909' } },
      }),
      'id',
    );
    const operator = await stage.enter(`/transactions/${id}`);
    await operator.page.locator('.facts').waitFor();
    assert.not.match((await operator.page.locator('.facts').textContent()) ?? '', /12345678909/);
    await operator.page.getByRole('button', { name: 'Reveal data' }).click();
    await operator.page.getByText('12345678909').first().waitFor();
    await operator.page.getByRole('button', { name: 'Hide data' }).click();
    await operator.page.getByText('12345678909').first().waitFor({ state: 'detached' });
    await operator.close();
    const viewer = await stage.enter(`/transactions/${id}`, {}, 'viewer');
    const button = viewer.page.getByRole('button', { name: 'Reveal data' });
    await button.waitFor();
    assert.is(await button.getAttribute('aria-disabled'), 'true');
    assert.match((await button.getAttribute('title')) ?? '', /Only operators/);
    await button.click({ force: true });
    assert.not.match((await viewer.page.locator('body').textContent()) ?? '', /12345678909/);
    await viewer.close();
  });

  test('a language whose words an old page has no more is there once it is loaded anew', async (stage) => {
    const watched = await stage.enter('/transactions', { language: 'en-GB' });
    const { page } = watched;
    watched.forgiven.push(/ERR_FAILED/);
    await page.route('**/words.pt-*.js', (route) => route.abort('failed'), { times: 1 });
    await page.getByRole('button', { name: /^EN/ }).click();
    await page.getByRole('heading', { name: 'Transações', level: 1 }).waitFor();
    await watched.close();
  });

  test('a theme and a language that were chosen stay', async (stage) => {
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await page.getByRole('button', { name: /^Theme/ }).click();
    await page.getByRole('button', { name: /^Theme/ }).click();
    await page.getByRole('button', { name: /^EN/ }).click();
    await page.reload();
    await page.getByRole('heading', { name: 'Transações', level: 1 }).waitFor();
    assert.is(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
    assert.is(
      await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'),
      'rgb(12, 16, 18)',
    );
    await watched.close();
  });
});
