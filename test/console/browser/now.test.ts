/** The start page in a browser: good news, then cases by their causes, each with a way to where it is seen. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { cliJson } from '../../support/cli.ts';
import { type Merchant, merchant } from '../../support/client.ts';
import { charge, shown, tell, told, transfer } from '../../support/flows.ts';
import { at, list, text } from '../../support/json.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/wait.ts';
import { visitor } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite, forgive, type Stage } from './stage.ts';

interface Prepared {
  own: Merchant;
  receiver: Receiver;
}

let prepared: Promise<Prepared> | null = null;

/** Cases of several kinds: URLs that are down or refuse, transfers without an answer, a payment given back. */
function prepare(stage: Stage): Promise<Prepared> {
  prepared ??= made(stage);
  return prepared;
}

async function made({ server, shop }: Stage): Promise<Prepared> {
  const receiver = await startReceiver();
  receiver.answer('/erp', () => ({ status: 503 }));
  receiver.answer('/recusa', () => ({ status: 400 }));
  const urls = ['/loja', '/erp', '/recusa'].flatMap((path) => ['--webhook-url', receiver.url(path)]);
  const own = await merchant(server, ['--name', 'Farmácia Vida', '--balance', '1000000', ...urls]);
  for (let nth = 0; nth < 6; nth++) {
    const id = text(await charge(own, 28_100 + nth * 900, { externalRef: `pedido-${20_440 + nth}` }), 'id');
    await told(own, id, 'PAY');
    if (nth === 2) await told(own, id, 'PROTEST');
  }
  await transfer(own, 125_007);
  await transfer(shop, 88_807);
  const twice = text(await charge(shop, 18_900), 'id');
  await told(shop, twice, 'PAY', { endToEndId: 'E99999999202611231030aaaaaaaaaaa' });
  await tell(shop, twice, 'PAY', { endToEndId: 'E99999999202611231030bbbbbbbbbbb' });
  const eva = await visitor(server);
  await until(
    async () => {
      const { body } = await eva.get('/now');
      const kinds = list(body, 'causes').map((cause) => text(cause, 'kind'));
      return ['dead', 'rejected', 'stuck'].every((kind) => kinds.includes(kind));
    },
    30_000,
    'there are cases of each kind',
  );
  return { own, receiver };
}

async function heading(page: Page): Promise<string> {
  return (await page.locator('#content h1').first().textContent()) ?? '';
}

browserSuite(
  "a browser's start",
  (test) => {
    test.after(async () => {
      await (await prepared)?.receiver.close();
    });

    test('a zero reads as good news', async (stage) => {
      for (const look of LOOKS) {
        const watched = await stage.enter('/', look);
        await watched.page.locator('.all-well').waitFor();
        await check(watched, `now zero ${Object.values(look).join(' ')}`);
        await watched.close();
      }
    });

    test('axe finds nothing, and nothing runs over', async (stage) => {
      await prepare(stage);
      for (const look of LOOKS) {
        const watched = await stage.enter('/', look);
        await watched.page.locator('.cause').first().waitFor();
        await watched.page.locator('.feed li').first().waitFor();
        await check(watched, `now ${Object.values(look).join(' ')}`);
        await watched.close();
      }
    });

    test('each cause is a card, counted in the title, the tab and the rail', async (stage) => {
      const { receiver } = await prepare(stage);
      const watched = await stage.enter('/transactions');
      const { page } = watched;
      await page.locator('.rail .badge').waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('n');
      await page.waitForURL((url) => url.pathname === '/');
      await page.locator('.cause').first().waitFor();
      const cards = await page.locator('.cause').count();
      assert.is(await heading(page), `${cards} cases need somebody`);
      assert.is(await page.locator('.rail .badge').textContent(), String(cards));
      await until(async () => (await page.title()).startsWith(`(${cards}) Now`), 5_000, 'the tab counts');
      for (const card of await page.locator('.cause').all())
        assert.is(await card.locator('.strong, .copy').count(), 1, (await card.textContent()) ?? '');
      const dead = page.locator('.cause', { hasText: receiver.url('/erp') });
      await dead.getByText('Farmácia Vida').waitFor();
      await dead.getByText('503').waitFor();
      const stuck = page.locator('.cause', { hasText: "without the bank's answer" });
      assert.match((await stuck.locator('h2').textContent()) ?? '', /2 transfers.*R\$\u00a02\.138,14/);
      const age = await stuck.locator('.since').textContent();
      await until(async () => (await stuck.locator('.since').textContent()) !== age, 5_000, 'it ticks');
      await dead.getByRole('link', { name: 'See deliveries' }).click();
      await page.waitForURL('**/deliveries?*');
      const { searchParams } = new URL(page.url());
      assert.equal([searchParams.get('url'), searchParams.get('status')], [receiver.url('/erp'), 'dead']);
      await watched.close();
    });

    test('new entries come by themselves, until somebody pauses', async (stage) => {
      const { own } = await prepare(stage);
      const watched = await stage.enter('/');
      const { page } = watched;
      await page.locator('.feed li').first().waitFor();
      await charge(own, 77_123);
      const feed = page.locator('.feed');
      await feed.getByText('R$\u00a0771,23').waitFor();
      await page.keyboard.press('p');
      await feed.getByText('paused').waitFor();
      await charge(own, 88_234);
      await page.waitForTimeout(3_000);
      assert.is(await feed.getByText('R$\u00a0882,34').count(), 0);
      await page.keyboard.press('p');
      await feed.getByText('R$\u00a0882,34').waitFor();
      await page.locator('.feed [data-row]').first().focus();
      await page.keyboard.press('Enter');
      await page.waitForURL('**/transactions/*');
      await watched.close();
    });

    test("a card's button opens the dialog; what was done leaves the list", async (stage) => {
      const { own, receiver } = await prepare(stage);
      const watched = await stage.enter('/');
      const { page } = watched;
      const dialog = page.locator('dialog.act[open]');
      const paidTwice = page.locator('.cause', { hasText: 'bbbbbbbbbbb' });
      await paidTwice.getByRole('button', { name: 'Done with it' }).click();
      await page.keyboard.type('the payer was called');
      await dialog.locator('button[type=submit]').click();
      await paidTwice.waitFor({ state: 'detached' });
      // The URL is up again: one delivery goes first, then the rest.
      receiver.answer('/erp', () => ({ status: 200 }));
      const dead = page.locator('.cause', { hasText: receiver.url('/erp') });
      await dead.getByRole('button', { name: 'Send all failed again' }).click();
      await page.keyboard.type('the receiver was mended');
      await dialog.locator('button[type=submit]').click();
      await page.getByRole('button', { name: 'Send the rest' }).click();
      const eva = await visitor(stage.server);
      await until(
        async () => {
          const { body } = await eva.get(`/deliveries?status=dead&account=${own.accountId}`);
          return list(body, 'rows').length === 0;
        },
        20_000,
        'nothing is dead any more',
      );
      await page.keyboard.press('Escape');
      await dead.waitFor({ state: 'detached' });
      await watched.close();
    });

    test('protests are one card, and each of them is decided there', async (stage) => {
      const own = await merchant(stage.server, ['--name', 'Ótica Sol']);
      const ids: string[] = [];
      for (let nth = 0; nth < 6; nth++) {
        ids.push(text(await charge(own, 4_400 + 100 * nth), 'id'));
        await told(own, ids[nth] ?? '', 'PAY');
        await told(own, ids[nth] ?? '', 'PROTEST');
      }
      const [first = ''] = ids;
      const watched = await stage.enter('/');
      const { page } = watched;
      const card = page.locator('.cause', { hasText: 'to decide' });
      await card.locator('h2', { hasText: '7 protests (MED) to decide' }).waitFor();
      // Five are shown, the oldest first; the others on demand.
      await card.locator('.protests li').nth(4).waitFor();
      assert.is(await card.locator('.protests li').count(), 5);
      await card.locator('.more button').click();
      await card.locator('.protests li').nth(6).waitFor();
      await check(watched, 'now seven protests');
      await card.getByRole('button', { name: `Decide ${first}` }).click();
      const dialog = page.locator('dialog.act[open]');
      const choices = dialog.locator('input[type=radio]');
      await choices.nth(2).waitFor();
      assert.equal(
        (
          await choices.all().then((all) => Promise.all(all.map((each) => each.getAttribute('value'))))
        ).sort(),
        ['CHARGEBACK', 'DISMISS', 'REFUND'],
      );
      await dialog.locator('input[value=DISMISS]').check();
      await check(watched, 'act a protest');
      await dialog.locator('.field input').last().fill('the goods arrived');
      await dialog.locator('button[type=submit]').click();
      await card.locator('h2', { hasText: '6 protests' }).waitFor();
      assert.is(await card.getByRole('button', { name: `Decide ${first}` }).count(), 0);
      assert.is(text(await shown(own, 'pix-in', first), 'status'), 'paid');
      for (const id of ids.slice(1)) await told(own, id, 'DISMISS');
      await card.locator('h2', { hasText: '1 protest (MED) to decide' }).waitFor();
      await watched.close();
    });

    test('of several cases on a card each may stay, and those that are not shown do', async (stage) => {
      const own = await merchant(stage.server, ['--name', 'Feira']);
      const twice = Array.from({ length: 5 }, (_, nth) => `E9999999920261123104${nth}eeeeeeeeeee`);
      for (const endToEndId of twice) {
        const id = text(await charge(own, 3_300), 'id');
        await told(own, id, 'PAY', { endToEndId: endToEndId.replace(/e+$/, 'fffffffffff') });
        await tell(own, id, 'PAY', { endToEndId });
      }
      const watched = await stage.enter('/');
      const { page } = watched;
      const card = page.locator('.cause', { hasText: 'Feira' });
      await card.getByRole('button', { name: 'Done with it' }).click();
      const dialog = page.locator('dialog.act[open]');
      await dialog.locator('fieldset.items label').nth(2).waitFor();
      assert.is(await dialog.locator('fieldset.items label').count(), 3);
      await dialog.getByText('2 of the same kind stay on it.').waitFor();
      const kept = dialog.locator('fieldset.items label').nth(1);
      const what = (await kept.textContent()) ?? '';
      await kept.locator('input').uncheck();
      await dialog.getByText('3 of the same kind stay on it.').waitFor();
      await check(watched, 'act some of several cases');
      await dialog.locator('.field input').last().fill('two payers were called');
      await dialog.locator('button[type=submit]').click();
      await card.locator('h2', { hasText: '3' }).waitFor();
      const left = list(await cliJson(stage.server, ['attention', '--account', own.accountId]), 'items');
      assert.is(left.length, 3);
      assert.ok(
        left.some((item) => what.includes(text(item, 'what'))),
        what,
      );
      await cliJson(stage.server, ['attention', 'done', ...left.map((item) => text(item, 'id'))]);
      await watched.close();
    });

    test('an item that another is done with meanwhile says who that was', async (stage) => {
      const id = text(await charge(stage.shop, 18_900), 'id');
      await told(stage.shop, id, 'PAY', { endToEndId: 'E99999999202611231030ccccccccccc' });
      await tell(stage.shop, id, 'PAY', { endToEndId: 'E99999999202611231030ddddddddddd' });
      const watched = await stage.enter('/');
      const { page } = watched;
      const card = page.locator('.cause', { hasText: 'ddddddddddd' });
      await card.getByRole('button', { name: 'Done with it' }).click();
      await page.keyboard.type('the payer was called');
      const rui = await visitor(stage.server, ['--role', 'operator', '--by', 'Rui']);
      const causes = list((await rui.get('/now')).body, 'causes');
      const items = causes.flatMap((cause) => list(cause, 'sample'));
      const item = items.find((each) => at(each, 'about.transaction') === id) ?? null;
      const body = {
        id: 'first',
        reason: 'a refund was agreed',
        kind: text(item, 'kind'),
        ids: [text(item, 'id')],
      };
      assert.is((await rui.act('POST', '/attention/done', body)).status, 200);
      await page.keyboard.press('Enter');
      await page.locator('dialog.act [role=alert]', { hasText: 'Rui was done with this item at' }).waitFor();
      forgive(watched, 404);
      await watched.close();
    });

    test('who only reads sees the buttons, and why they do nothing', async (stage) => {
      await prepare(stage);
      const watched = await stage.enter('/', {}, 'viewer');
      const { page } = watched;
      const button = page.locator('.cause button.strong').first();
      await button.waitFor();
      assert.is(await button.getAttribute('aria-disabled'), 'true');
      assert.match((await button.getAttribute('title')) ?? '', /perators/);
      await button.click({ force: true });
      assert.is(await page.locator('dialog.act').count(), 0);
      await watched.close();
    });
  },
  { STUCK_AFTER_S: '1' },
);
