/** The API reference in a browser: every endpoint of the document, and a try that makes a charge. */
import * as assert from 'uvu/assert';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { ApiDocument } from '../../../src/console/api-shapes.ts';
import { text } from '../../support/json.ts';
import { origin } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite } from './stage.ts';

const DOCUMENT = openApiDocument(true, false) as ApiDocument;

/** All that the document tells in sentences. */
function toldBy(part: unknown): Set<string> {
  if (typeof part !== 'object' || part === null) return new Set();
  return new Set(
    Object.entries(part).flatMap(([name, each]) =>
      typeof each === 'string' && /^(description|summary)$/.test(name) ? [each] : [...toldBy(each)],
    ),
  );
}

browserSuite('a browser reads the API reference', (test) => {
  test('axe finds nothing, and nothing runs over', async (stage) => {
    for (const look of LOOKS) {
      const watched = await stage.enter('/reference', look);
      const { page } = watched;
      for (const path of ['', '/post-pix-in', '/get-statement', '/webhook-event', '/none']) {
        await page.goto(`${origin(stage.server)}/reference${path}`);
        await page.locator('.manual').waitFor();
        await check(watched, `reference${path} ${Object.values(look).join(' ')}`);
        const nodes = await page.evaluate<number>("document.querySelectorAll('*').length");
        assert.ok(nodes < 1_000, `${path}: ${nodes} nodes`);
      }
      await watched.close();
    }
  });

  test('every endpoint of the document stands there, with its fields and errors', async (stage) => {
    const watched = await stage.enter('/reference');
    const { page } = watched;
    const links = page.locator('.endpoints a');
    await links.first().waitFor();
    const shown = await links.allTextContents();
    const known = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.equal(shown.sort(), [...known, 'webhook event'].sort());
    for (let index = 0; index < shown.length; index++) {
      await links.nth(index).click();
      const name = ((await links.nth(index).textContent()) ?? '').replace('webhook ', '');
      const [method = '', path = name] = name.split(' ');
      await page
        .locator('.endpoint-name .mono', { hasText: new RegExp(`^${path.replace(/[{}]/g, '\\$&')}$`) })
        .waitFor();
      const endpoint = DOCUMENT.paths[path]?.[method.toLowerCase()];
      const summary = endpoint?.summary ?? DOCUMENT.webhooks?.event?.post?.summary ?? '';
      assert.is(await page.locator('.endpoint > header p').textContent(), summary);
      const errors = Object.entries(endpoint?.responses ?? {}).filter(([status]) => Number(status) >= 400);
      assert.equal(
        await page.locator('.errors tbody th').allTextContents(),
        errors.map(([status]) => status),
        name,
      );
    }
    await watched.close();
  });

  test('a try creates a charge, and what it is done with is kept nowhere', async (stage) => {
    const { shop } = stage;
    const watched = await stage.enter('/reference/post-pix-in');
    const { page } = watched;
    await page.getByLabel('clientId').fill(shop.clientId);
    await page.getByLabel('clientSecret').fill(shop.clientSecret);
    assert.is(await page.getByLabel('clientSecret').getAttribute('type'), 'password');
    await page.locator('textarea').fill('{"amount": 4321, "externalRef": "from-the-reference"}');
    assert.match((await page.locator('pre').first().textContent()) ?? '', /from-the-reference/);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^Answered 201 in \d+ ms$/).waitFor();
    const charge = await shop.get('/pix-in?externalRef=from-the-reference');
    assert.is(charge.status, 200);
    assert.match((await page.locator('.tried').textContent()) ?? '', text(charge.body, 'id'));
    // At the next endpoint they are still there, and the answer is a page's own.
    await page.locator('.endpoints a', { hasText: '/balance' }).click();
    assert.is(await page.locator('.tried').count(), 0);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^Answered 200 in \d+ ms$/).waitFor();
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state, document.cookie])',
    );
    assert.not.match(kept, shop.clientSecret);
    await page.reload();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    assert.is(await page.getByLabel('clientSecret').inputValue(), '');
    await watched.close();
  });

  test('in Portuguese it says that descriptions are English, and they are marked as such', async (stage) => {
    const watched = await stage.enter('/reference/post-pix-in', { language: 'pt-BR' });
    const { page } = watched;
    await page.getByText('As descrições vêm do documento OpenAPI e estão em inglês.').waitFor();
    assert.match((await page.locator('html').getAttribute('lang')) ?? '', /^pt/);
    const told = toldBy(DOCUMENT);
    const marked = page.locator('#content [lang=en]');
    await marked.nth(3).waitFor();
    const strays = await page.evaluate<string[]>(`[...document.querySelectorAll('#content p')]
      .filter((each) => each.closest('[lang=en]') === null)
      .map((each) => each.textContent)`);
    assert.equal(
      strays.filter((text) => told.has(text)),
      [],
    );
    for (const text of await marked.allTextContents()) assert.ok(told.has(text), text);
    // None of the page's own words is taken for English.
    for (const text of await marked.allTextContents()) assert.not.match(text, /[ãõçáéíóúâêôà]/i);
    await page.locator('.endpoint > header p[lang=en]').waitFor();
    await watched.close();
  });

  test('a viewer reads it, and is told why nothing can be tried', async (stage) => {
    const watched = await stage.enter('/reference/post-pix-in', {}, 'viewer');
    const { page } = watched;
    await page.getByText(/^Only operators try the API/).waitFor();
    assert.is(await page.getByLabel('clientSecret').count(), 0);
    await watched.close();
  });

  test('its script is loaded when it is opened, and not before', async (stage) => {
    const watched = await stage.enter('/transactions');
    const { page } = watched;
    const loaded = () =>
      page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)");
    assert.is((await loaded()).filter((name) => /reference-/.test(name)).length, 0);
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'API reference', level: 1 }).waitFor();
    assert.is((await loaded()).filter((name) => /reference-/.test(name)).length, 1);
    await watched.close();
  });
});
