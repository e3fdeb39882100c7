/** By keys alone: find an order, send again what died at a URL, record what the bank said of a transfer. */
import type { Locator, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { merchant } from '../../support/client.ts';
import { charge, told, transfer } from '../../support/flows.ts';
import { list, text } from '../../support/json.ts';
import { startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/wait.ts';
import { visitor } from '../visitor.ts';
import { browserSuite } from './stage.ts';

/** No page has so many stops. */
const MOST_STOPS = 80;

/** Goes there by Tab, from wherever the focus is. */
async function tabTo(page: Page, target: Locator, key = 'Tab'): Promise<void> {
  await target.waitFor();
  for (let stop = 0; stop < MOST_STOPS; stop++) {
    if (await target.evaluate((element) => element.ownerDocument.activeElement === element)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${target} is not reached by ${key}`);
}

/** A page that no mouse ever touches. */
async function withoutMouse(page: Page): Promise<void> {
  await page.evaluate("addEventListener('pointerdown', () => { throw new Error('a mouse') }, true)");
}

browserSuite(
  'a browser by keys alone',
  (test) => {
    test('an order that somebody quotes: its state, amount and merchant', async (stage) => {
      const id = text(await charge(stage.shop, 20_448, { externalRef: 'pedido-20448' }), 'id');
      await told(stage.shop, id, 'PAY');
      const watched = await stage.enter('/');
      const { page } = watched;
      await withoutMouse(page);
      await page.keyboard.press('/');
      await page.keyboard.insertText('pedido-20448');
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/transactions/${id}`);
      await page.getByRole('heading', { level: 1, name: /204,48/ }).waitFor();
      await page.locator('.state.lit[data-state=paid]').waitFor();
      assert.match((await page.locator('#content').textContent()) ?? '', /Loja Aurora/);
      await watched.close();
    });

    test('a URL was down: all that died there is sent again from its card', async (stage) => {
      const receiver = await startReceiver();
      let isUp = false;
      receiver.answer('/erp', () => ({ status: isUp ? 200 : 400 }));
      const url = receiver.url('/erp');
      const own = await merchant(stage.server, ['--name', 'Bazar', '--webhook-url', url]);
      for (let nth = 0; nth < 12; nth++) await charge(own, 2_050);
      await receiver.waitForCount('/erp', 12, 20_000);
      isUp = true;
      const watched = await stage.enter('/');
      const { page } = watched;
      await withoutMouse(page);
      const card = page.locator('.cause', { hasText: url });
      await tabTo(page, card.getByRole('button', { name: 'Send all failed again' }));
      await page.keyboard.press('Enter');
      await page.locator('dialog.act[open]').waitFor();
      await page.keyboard.type('the ERP was down');
      await page.keyboard.press('Enter');
      await page.locator('dialog.act .outcome', { hasText: 'answered 200' }).waitFor();
      await tabTo(page, page.getByRole('button', { name: 'Send the rest' }));
      await page.keyboard.press('Enter');
      await page.locator('dialog.act .outcome', { hasText: 'It is over' }).waitFor();
      await page.keyboard.press('Escape');
      await card.waitFor({ state: 'detached' });
      await receiver.waitForCount('/erp', 24, 10_000);
      await watched.close();
      await receiver.close();
    });

    test('a transfer hangs: what the bank said is recorded from its card', async (stage) => {
      const before = await stage.shop.balance();
      const id = text(await transfer(stage.shop, 5_007), 'id');
      const eva = await visitor(stage.server);
      await until(
        async () =>
          list((await eva.get('/now')).body, 'causes').some((cause) => text(cause, 'kind') === 'stuck'),
        20_000,
        'it is a case',
      );
      const watched = await stage.enter('/');
      const { page } = watched;
      await withoutMouse(page);
      const card = page.locator('.cause', { hasText: "without the bank's answer" });
      await tabTo(page, card.getByRole('button', { name: 'Send a message' }));
      await page.keyboard.press('Enter');
      const settle = page.locator('dialog.act input[value=SETTLE]');
      await settle.waitFor();
      await page.keyboard.type('asked the bank by phone');
      await page.keyboard.press('Shift+Tab');
      for (let choice = 0; choice < 8 && !(await settle.isChecked()); choice++)
        await page.keyboard.press('ArrowDown');
      assert.ok(await settle.isChecked());
      await page.keyboard.press('Enter');
      await page.locator('dialog.act:not([open])').waitFor({ state: 'attached' });
      await card.waitFor({ state: 'detached' });
      assert.is(text((await eva.get(`/transactions/${id}`)).body, 'status'), 'completed');
      assert.is(await stage.shop.balance(), before - 5_007 - 50);
      await watched.close();
    });
  },
  { STUCK_AFTER_S: '1' },
);
