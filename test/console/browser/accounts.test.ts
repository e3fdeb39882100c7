/** Accounts and deliveries in a browser: found, looked at as they were, filtered, opened in place; by keys as well. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { cliJson } from '../../support/cli.ts';
import { type Merchant, merchant } from '../../support/client.ts';
import { charge, told, transfer } from '../../support/flows.ts';
import { list, text, whole } from '../../support/json.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/wait.ts';
import { origin, visitor } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite, forgive, type Stage } from './stage.ts';

const BRL = new Intl.NumberFormat('pt-BR', { minimumFractionDigits: 2 });

/** As the pages show it. */
function reais(cents: number): string {
  return `R$\u00a0${BRL.format(cents / 100)}`;
}

interface Prepared {
  own: Merchant;
  receiver: Receiver;
}

let prepared: Promise<Prepared> | null = null;

/** An account with money that came and went, something done by hand, and URLs that take and don't. */
function prepare(stage: Stage): Promise<Prepared> {
  prepared ??= made(stage);
  return prepared;
}

async function made({ server }: Stage): Promise<Prepared> {
  const receiver = await startReceiver();
  receiver.answer('/erp', () => ({ status: 503 }));
  receiver.answer('/recusa', (nth) => ({ status: nth % 3 === 0 ? 400 : 200, delayMs: nth * 7 }));
  const urls = ['/loja', '/erp', '/recusa'].flatMap((path) => ['--webhook-url', receiver.url(path)]);
  const own = await merchant(server, ['--name', 'Farmácia Vida', '--balance', '1000000', ...urls]);
  for (let nth = 0; nth < 8; nth++) {
    const id = text(await charge(own, 28_100 + nth * 900, { externalRef: `pedido-${20_440 + nth}` }), 'id');
    await told(own, id, 'PAY');
    if (nth === 2) await told(own, id, 'REFUND');
  }
  await transfer(own, 125_007);
  await cliJson(server, ['account', 'adjust', own.accountId, '1250', '--reason', 'a test']);
  const eva = await visitor(server);
  await until(
    async () => {
      const { body } = await eva.get(`/deliveries?account=${own.accountId}&status=dead&limit=100`);
      return list(body, 'rows').length > 10;
    },
    20_000,
    'the deliveries of a URL are dead',
  );
  return { own, receiver };
}

async function textIn(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).first().textContent()) ?? '';
}

browserSuite("a browser's accounts", (test) => {
  test.after(async () => {
    await (await prepared)?.receiver.close();
  });

  test('axe finds nothing, and nothing runs over', async (stage) => {
    const { own, receiver } = await prepare(stage);
    const account = `/accounts/${own.accountId}`;
    const pages: [string, string, string][] = [
      ['accounts', '/accounts', '.list'],
      ['no account', '/accounts?q=nobody', '.empty'],
      ['account', account, '.statement tbody tr'],
      ['account then', `${account}?at=${new Date().toISOString()}&door=ops&span=all`, '.statement tbody tr'],
      ['account at no time', `${account}?at=soon&span=ever`, '.curve'],
      ['empty account', `/accounts/${stage.shop.accountId}`, '.curve'],
      ['missing account', '/accounts/acc_none', '.nothing h1'],
      ['deliveries', '/deliveries', '.deliveries li'],
      [
        'deliveries dead',
        `/deliveries?status=dead&url=${encodeURIComponent(receiver.url('/erp'))}`,
        '.deliveries li',
      ],
    ];
    for (const look of LOOKS) {
      const watched = await stage.enter('/accounts', look);
      const { page } = watched;
      for (const [name, path, there] of pages) {
        await page.goto(origin(stage.server) + path);
        await page.locator('#content h1').waitFor();
        await page.locator(there).first().waitFor();
        if (name.startsWith('account')) await page.locator('.list, .curve').first().waitFor();
        if (name === 'deliveries') await page.locator('.deliveries button.row').first().click();
        // What lies behind the bars that stay in place is no target there: the page is looked at from its top.
        await page.evaluate('scrollTo(0, 0)');
        await check(watched, `${name} ${Object.values(look).join(' ')}`);
      }
      forgive(watched, 404);
      await watched.close();
    }
  });

  test('an account is found by its name, and shows what it has', async (stage) => {
    const { own } = await prepare(stage);
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.waitForURL('**/accounts');
    await page.getByRole('searchbox').fill('vida');
    await page.waitForURL('**/accounts?q=vida');
    await page.getByRole('link', { name: 'Farmácia Vida' }).click();
    await page.waitForURL(`**/accounts/${own.accountId}`);
    await page.locator('.statement tbody tr').first().waitFor();
    assert.is(await textIn(page, '.sums .large'), reais(await own.balance()));
    assert.is(await textIn(page, '.statement .after .money'), reais(await own.balance()));
    assert.match(
      (await page.locator('.curve svg').getAttribute('aria-label')) ?? '',
      reais(await own.balance()),
    );
    assert.is(await page.locator('.urls li').count(), 3);
    // A row opens its transaction.
    const row = page.locator('.statement [data-row]').first();
    const href = await row.getAttribute('href');
    await row.click();
    await page.waitForURL(`**${href}`);
    await page.getByRole('link', { name: 'Farmácia Vida' }).click();
    await page.waitForURL(`**/accounts/${own.accountId}`);
    await watched.close();
  });

  test('the balance at a time, and what was done by hand, stand in the address', async (stage) => {
    const { own } = await prepare(stage);
    const eva = await visitor(stage.server);
    const { body } = await eva.get(`/accounts/${own.accountId}/statement?limit=100`);
    const row = list(body, 'rows')[4] ?? null;
    const at = text(row, 'at');
    const watched = await stage.enter(`/accounts/${own.accountId}?at=${at}`);
    const { page } = watched;
    await page.locator('.statement tbody tr').first().waitFor();
    assert.is(await textIn(page, '.sums .large'), reais(whole(row, 'balance')));
    assert.is(await textIn(page, '.statement .after .money'), reais(whole(row, 'balance')));
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.waitForURL(`**/accounts/${own.accountId}`);
    await page.getByRole('button', { name: 'Done by hand' }).click();
    await page.waitForURL('**?door=ops');
    await page.locator('.by-hand tbody tr').first().waitFor();
    assert.equal(await page.locator('.by-hand .message').allTextContents(), [
      'Balance adjusted  ',
      'Balance adjusted  ',
    ]);
    assert.equal(await page.locator('.by-hand .why q').allTextContents(), ['a test']);
    assert.is(await page.locator('.by-hand .who .weak').count(), 0);
    // A press on the curve goes back to that time.
    await page.locator('.curve svg').click({ position: { x: 3, y: 40 } });
    await page.getByRole('button', { name: 'Back to now' }).waitFor();
    assert.ok(Date.parse(new URL(page.url()).searchParams.get('at') ?? '') < Date.parse(at));
    await watched.close();
  });

  test('the statement of the span is saved as a file', async (stage) => {
    const watched = await stage.enter(`/accounts/${stage.shop.accountId}?span=h24`);
    const { page } = watched;
    const button = page.getByRole('button', { name: /as CSV/ });
    await button.waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    assert.match(download.suggestedFilename(), new RegExp(`^${stage.shop.accountId} .*\\.csv$`));
    const saved = readFileSync(await download.path(), 'utf8');
    assert.match(saved, /^at,type,transactionId,.*\r\n\d{4}-/);
    await watched.close();
  });

  test('the file ends with the span, or says how many rows it has', async (stage) => {
    const watched = await stage.enter(`/accounts/${stage.shop.accountId}?span=h24`);
    const { page } = watched;
    const button = page.getByRole('button', { name: /as CSV/ });
    const asked = { parts: 0 };
    // Long stretches of a journal change no balance: charges that nobody pays.
    const answers = { rows: 0, last: 150 };
    await page.route('**/statement/csv?*', async (route) => {
      asked.parts += 1;
      const next = asked.parts === answers.last ? null : String(asked.parts);
      await route.fulfill({ json: { csv: `part ${asked.parts}\r\n`, rows: answers.rows, next } });
    });
    const saved = async (): Promise<string> => {
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      return readFileSync(await download.path(), 'utf8');
    };
    assert.match(await saved(), /part 149\r\npart 150\r\n$/);
    Object.assign(asked, { parts: 0 });
    Object.assign(answers, { rows: 1_000 });
    assert.match(await saved(), /part 100\r\n$/);
    await page.getByRole('status').getByText('the first 100,000 rows').waitFor();
    await watched.close();
  });

  test('deliveries are found by URL and status, and open in place, by keys alone', async (stage) => {
    const { own, receiver } = await prepare(stage);
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.waitForURL('**/deliveries');
    await page.locator('.urls li').first().waitFor();
    // The URL that fails is first.
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/deliveries?*');
    const { searchParams } = new URL(page.url());
    assert.is(searchParams.get('url'), receiver.url('/erp'));
    assert.is(searchParams.get('account'), own.accountId);
    await page.getByLabel('State', { exact: true }).selectOption('dead');
    await page.waitForURL('**status=dead**');
    const first = page.locator('.deliveries button.row').first();
    await first.waitFor();
    await page.locator('.deliveries button.row .chip:not(.bad)').first().waitFor({ state: 'detached' });
    await first.focus();
    await page.keyboard.press('Enter');
    await page.locator('.opened .json').first().waitFor();
    assert.is(await page.locator('.opened table.small tbody tr').count(), 5);
    await page.getByRole('link', { name: 'Open the transaction' }).click();
    await page.waitForURL('**/transactions/*');
    await watched.close();
  });
});
