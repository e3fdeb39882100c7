/** Any id leads to its page; what is nothing, or hostile, is said to be nothing. */
import * as assert from 'uvu/assert';
import type { TransactionDocument } from '../../../src/console/shapes.ts';
import { charge, deliveries, reaches, validCpf } from '../../support/flows.ts';
import { at, list, text } from '../../support/json.ts';
import { visitor } from '../visitor.ts';
import { browserSuite, forgive } from './stage.ts';

browserSuite('a browser finds', (test) => {
  test('each kind of id leads to its transaction, by Enter', async ({ server, shop, enter }) => {
    const made = await charge(shop, 18_901, {
      externalRef: 'pedido-20448',
      idempotencyKey: 'chave-20448',
      customer: { name: 'Marina Lopes', document: { type: 'CPF', number: validCpf } },
    });
    const id = text(made, 'id');
    const paid = await reaches(shop, 'pix-in', id, 'paid');
    const watched = await enter('/transactions');
    const { page } = watched;
    const ids = [id, id.toUpperCase(), 'pedido-20448', 'chave-20448', text(at(paid, 'pix'), 'endToEndId')];
    const { get } = await visitor(server);
    const document = (await get(`/transactions/${id}`)).body as unknown as TransactionDocument;
    ids.push(...document.entries.flatMap(({ events }) => events.map((event) => event.id)));
    assert.is(ids.length, 7);
    for (const wanted of ids) {
      await page.goto(page.url().replace(/\/transactions.*$/, '/transactions'));
      await page.locator('main#content').waitFor();
      // Typed and confirmed in one go: nobody waits for the list.
      await page.keyboard.press('/');
      await page.keyboard.insertText(wanted);
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/transactions/${id}`);
      await page.getByRole('heading', { level: 1, name: /189,01/ }).waitFor();
    }
    await watched.close();
  });

  test('a key counts from the moment that the page is there', async ({ enter }) => {
    const watched = await enter('/transactions');
    const { page } = watched;
    // Runs in the page: the key comes as soon as anything of the page is drawn.
    await page.addInitScript(`new MutationObserver((changes, observer) => {
      if (document.querySelector('main#content') === null) return;
      observer.disconnect();
      dispatchEvent(new KeyboardEvent('keydown', { key: '/' }));
    }).observe(document, { childList: true, subtree: true })`);
    await page.reload();
    await page.locator('[role="combobox"]:focus').waitFor();
    await watched.close();
  });

  test('what is nothing is said to be nothing, hostile texts too', async ({ enter }) => {
    const watched = await enter('/transactions');
    const { page } = watched;
    const texts = [
      '<img src=x onerror=alert(1)>',
      'x'.repeat(512),
      '"\'`;--',
      '00000000-0000-4000-8000-000000000000',
    ];
    for (const wanted of texts) {
      await page.keyboard.press('Control+k');
      await page.keyboard.insertText(wanted);
      await page.getByText(/^Nothing found for/).waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
    }
    assert.is(await page.locator('img').count(), 0);
    await watched.close();
  });

  test('an account leads to its page', async ({ shop, enter }) => {
    await charge(shop, 5_000);
    const watched = await enter('/transactions');
    const { page } = watched;
    await page.keyboard.press('/');
    await page.keyboard.insertText(shop.accountId);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/accounts/${shop.accountId}`);
    await page.getByRole('heading', { name: 'Loja Aurora' }).waitFor();
    await watched.close();
  });

  test('hostile texts of a merchant are texts', async ({ shop, enter }) => {
    const hostile = '<img src=x onerror=alert(1)>';
    const made = await charge(shop, 7_700, { externalRef: hostile, description: hostile });
    const watched = await enter(`/transactions/${text(made, 'id')}`);
    const { page } = watched;
    await page.getByText(hostile).first().waitFor();
    assert.is(await page.locator('img').count(), 0);
    await watched.close();
  });

  test('direction marks in a merchant’s texts turn nothing around beside them', async ({ shop, enter }) => {
    const customer = { name: 'Marina \u202E', document: { type: 'CPF', number: '12345678909' } };
    const id = text(await charge(shop, 3_300, { customer, description: 'um café \u202E' }), 'id');
    const watched = await enter(`/transactions/${id}`);
    const { page } = watched;
    await page.getByRole('button', { name: 'Reveal data' }).click();
    await page.locator('.facts').getByText('12345678909').waitFor();
    /** Whether a text that is shown runs from left to right: where its first and its last character stand. */
    const runs = (selector: string) =>
      page.evaluate(`(() => {
        const { firstChild: text } = document.querySelector(${JSON.stringify(selector)});
        const leftOf = (at) => {
          const range = document.createRange();
          range.setStart(text, at);
          range.setEnd(text, at + 1);
          return range.getBoundingClientRect().left;
        };
        return leftOf(0) < leftOf(text.length - 1);
      })()`);
    assert.is(await runs('.subtitle code'), true, 'the id');
    assert.is(await runs('.facts .mono.weak'), true, 'the document');
    await watched.close();
  });

  test('an address that names no transaction says so', async ({ enter }) => {
    for (const path of [
      '/transactions/00000000-0000-4000-8000-000000000000',
      '/transactions/%E0%A4%A',
      '/what',
    ]) {
      const watched = await enter(path);
      await watched.page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
      for (const status of [400, 404]) forgive(watched, status);
      await watched.close();
    }
  });

  test('the deliveries of a transaction stand on its page', async ({ shop, enter }) => {
    const made = await charge(shop, 18_800);
    assert.equal(list({ data: await deliveries(shop, text(made, 'id')) }, 'data'), []);
    const watched = await enter(`/transactions/${text(made, 'id')}`);
    await watched.page.getByText('No webhooks for this transaction.').waitFor();
    await watched.close();
  });
});
