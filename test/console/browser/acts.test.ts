/** What operators do in a browser: one dialog for all of it, under their names, and nothing of it for who only reads. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { charge, told, transfer } from '../../support/flows.ts';
import { at, list, text } from '../../support/json.ts';
import { origin, visitor } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite, type Stage } from './stage.ts';

/** A charge that is paid. */
async function paid({ shop }: Stage, amount = 20_450): Promise<string> {
  const id = text(await charge(shop, amount), 'id');
  await told(shop, id, 'PAY');
  return id;
}

async function opened(page: Page): Promise<void> {
  await page.locator('dialog.act[open] button[type=submit]').waitFor();
}

async function closed(page: Page): Promise<void> {
  await page.locator('dialog.act:not([open])').waitFor({ state: 'attached' });
}

/** The page shows the buttons once it is read. */
async function shown(page: Page): Promise<void> {
  await page.locator('.acts button').first().waitFor();
}

browserSuite("a browser's acts", (test) => {
  test('a click on a dashed arrow opens the dialog with its message; what was typed is the reason', async (stage) => {
    const id = await paid(stage);
    const watched = await stage.enter(`/transactions/${id}`);
    const { page } = watched;
    await shown(page);
    await page.locator('.chart [data-message=PROTEST].can').click();
    await opened(page);
    assert.is(await page.locator('dialog.act input[type=radio]:checked').getAttribute('value'), 'PROTEST');
    await page.keyboard.type('the payer protests');
    await page.keyboard.press('Enter');
    await closed(page);
    await page.locator('.chart .state.lit[data-state=in_protest]').waitFor();
    const eva = await visitor(stage.server);
    const [entry = null] = list((await eva.get(`/transactions/${id}`)).body, 'entries');
    assert.equal(at(entry, 'by'), { name: 'maria', role: 'operator', reason: 'the payer protests' });
    await watched.close();
  });

  test('axe finds nothing in the dialog, and nothing runs over', async (stage) => {
    const id = await paid(stage);
    const payout = text(await transfer(stage.shop, 3_007), 'id');
    const dialogs: [string, string, string][] = [
      ['message', `/transactions/${payout}`, 'Send a message|Enviar mensagem'],
      ['refund', `/transactions/${id}`, 'Refund|Devolver'],
      ['adjust', `/accounts/${stage.shop.accountId}`, 'Adjust the balance|Ajustar saldo'],
      ['settings', `/accounts/${stage.shop.accountId}`, 'Change|Mudar'],
      ['rotate', `/accounts/${stage.shop.accountId}`, 'Rotate the credentials|Trocar credenciais'],
    ];
    for (const look of LOOKS) {
      const watched = await stage.enter('/accounts', look);
      const { page } = watched;
      for (const [name, path, button] of dialogs) {
        await page.goto(origin(stage.server) + path);
        await shown(page);
        await page.getByRole('button', { name: new RegExp(`^(${button})$`) }).click();
        await opened(page);
        await page.locator('dialog.act .field input').first().waitFor();
        await check(watched, `act ${name} ${Object.values(look).join(' ')}`);
        await page.keyboard.press('Escape');
        await closed(page);
      }
      await watched.close();
    }
  });
});
