/** What needs a person about a transaction, on its own page in a browser. */
import * as assert from 'uvu/assert';
import { charge, newEndToEndId, tell, told } from '../../support/flows.ts';
import { list, text } from '../../support/json.ts';
import { visitor } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite, type Stage } from './stage.ts';

/** A charge that was paid three times, and the payments that were given back. */
async function paidThrice({ shop }: Stage): Promise<{ id: string; back: [string, string] }> {
  const id = text(await charge(shop, 18_900), 'id');
  const back: [string, string] = [newEndToEndId(), newEndToEndId()];
  await told(shop, id, 'PAY', { endToEndId: newEndToEndId() });
  for (const endToEndId of back) await tell(shop, id, 'PAY', { endToEndId });
  return { id, back };
}

browserSuite("a browser's cases of a transaction", (test) => {
  test('axe finds nothing on a page with cases, and nothing runs over', async (stage) => {
    const { id } = await paidThrice(stage);
    for (const look of LOOKS) {
      const watched = await stage.enter(`/transactions/${id}`, look);
      await watched.page.locator('.cause').nth(1).waitFor();
      await check(watched, `cases ${Object.values(look).join(' ')}`);
      await watched.close();
    }
  });

  test('each is done with by itself, with a reason', async (stage) => {
    const { id, back } = await paidThrice(stage);
    const watched = await stage.enter(`/transactions/${id}`);
    const { page } = watched;
    const first = page.locator('.cause', { hasText: back[0] });
    const second = page.locator('.cause', { hasText: back[1] });
    await second.waitFor();
    await first.getByRole('button', { name: 'Done with it' }).click();
    await page.keyboard.type('the payer was called');
    await page.keyboard.press('Enter');
    await first.waitFor({ state: 'detached' });
    assert.is(await page.locator('.cause').count(), 1);
    await second.getByRole('button', { name: 'Done with it' }).click();
    await page.keyboard.type('this one, too');
    await page.keyboard.press('Enter');
    await second.waitFor({ state: 'detached' });
    const eva = await visitor(stage.server);
    assert.equal(list((await eva.get(`/transactions/${id}`)).body, 'items'), []);
    await watched.close();
  });

  test('who only reads sees them, and why the button does nothing', async (stage) => {
    const { id } = await paidThrice(stage);
    const watched = await stage.enter(`/transactions/${id}`, {}, 'viewer');
    const button = watched.page.locator('.cause button').first();
    await button.waitFor();
    assert.is(await button.getAttribute('aria-disabled'), 'true');
    await watched.close();
  });
});
