/** A link signs in once; without one there is one sentence, and no secret stays in the address. */
import * as assert from 'uvu/assert';
import { link, origin } from '../visitor.ts';
import { browserSuite, forgive } from './stage.ts';

browserSuite('a browser signs in', (test) => {
  test('a link signs in, and its key leaves the address', async ({ server, open }) => {
    const watched = await open();
    const { page } = watched;
    const { url } = await link(server, ['--role', 'operator']);
    await page.goto(url);
    await page.getByRole('heading', { name: 'Nothing needs anybody', level: 1 }).waitFor();
    assert.is(page.url(), `${origin(server)}/`);
    assert.ok(!(await page.evaluate<string>('JSON.stringify(history.state) + location.href')).includes('k='));
    await page.reload();
    await page.getByRole('heading', { name: 'Nothing needs anybody', level: 1 }).waitFor();
    assert.is(await page.locator('.who').textContent(), 'operator');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    forgive(watched, 401);
    await watched.close();
  });

  test('a link that was used is refused, and says so', async ({ server, open }) => {
    const { url } = await link(server);
    const first = await open();
    await first.page.goto(url);
    await first.page.locator('main#content').waitFor();
    await first.close();
    const second = await open();
    await second.page.goto(url);
    await second.page.getByRole('alert').waitFor();
    assert.match((await second.page.getByRole('alert').textContent()) ?? '', /used before/);
    assert.is(second.page.url(), `${origin(server)}/`);
    forgive(second, 401);
    await second.close();
  });

  test('who is nobody is told the command, in the language of the browser', async ({ server, open }) => {
    const watched = await open({ language: 'pt-BR' });
    const { page } = watched;
    await page.goto(`${origin(server)}/transactions`);
    await page.getByRole('heading', { name: 'Entrar' }).waitFor();
    assert.is(await page.locator('.command code').textContent(), 'npx pixstate console');
    await page.getByRole('button', { name: /inglês/ }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.is(await page.evaluate('document.documentElement.lang'), 'en');
    forgive(watched, 401);
    await watched.close();
  });

  test('a link to a page leads there once one is signed in', async ({ enter }) => {
    const watched = await enter('/transactions?type=cashout');
    assert.is(await watched.page.getByLabel('Type').inputValue(), 'cashout');
    await watched.close();
  });

  test('without half of the session nobody is signed in', async ({ enter }) => {
    const watched = await enter('/transactions');
    await watched.page.evaluate("localStorage.removeItem('pixstate.session')");
    await watched.page.reload();
    await watched.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    forgive(watched, 401);
    await watched.close();
  });

  test("an operator ends somebody's session; that page asks to sign in", async ({ server, enter, open }) => {
    const lia = await open();
    await lia.page.goto((await link(server, ['--by', 'Lia'])).url);
    await lia.page.locator('main#content').waitFor();
    const watched = await enter('/transactions');
    const { page } = watched;
    await page.locator('.who').click();
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
    const row = page.locator('.list.sessions tbody tr', { hasText: 'Lia' });
    await row.getByRole('button', { name: 'End the session of Lia' }).click();
    await row.waitFor({ state: 'detached' });
    await lia.page.reload();
    await lia.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    forgive(lia, 401);
    await lia.close();
    await page.locator('.list.sessions').getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await watched.close();
  });

  test('without JavaScript there is a sentence', async ({ server, open }) => {
    const watched = await open();
    const { page } = watched;
    const text = await (await page.request.get(`${origin(server)}/`)).text();
    assert.match(text, /<noscript>[\s\S]*needs JavaScript[\s\S]*<\/noscript>/);
    await watched.close();
  });
});
