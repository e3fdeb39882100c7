/** The example shop, as `npm run shop` starts it: in a browser somebody buys something, and gets the money back. */
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { parseBrCode } from '../../src/domain/br-code.ts';
import { fetchReply } from '../support/client.ts';
import { unknownId } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { text } from '../support/json.ts';
import { endWithin, spawnNode } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { browserPath, openBrowser } from './browser.ts';

const START_MS = 30_000;
const json = { 'content-type': 'application/json' };
const shopEntry = ['--import', 'tsx', 'examples/shop/run.ts'];

/** A shop that is open, with the addresses that it printed. */
async function openShop() {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-test-'));
  const process = spawnNode(shopEntry, { TMPDIR: folder });
  const printed = await until(
    () => /open: (http\S+) \(Pixstate: (http\S+)\/v1\)/.exec(process.stdout()),
    START_MS,
    `the shop is open: ${process.stderr()}`,
  );
  const [, url = '', pixstate = ''] = printed;
  return { folder, process, url, pixstate };
}

const { test, run } = fixtureSuite('examples/shop', async (defer) => {
  const path = browserPath();
  const shop = await openShop();
  defer(async () => {
    // It ends its sandbox; a SIGKILL would leave that behind.
    shop.process.child.kill('SIGTERM');
    await endWithin(shop.process, 15_000);
    await rm(shop.folder, { recursive: true, force: true });
  });
  if (path === null) console.log('NOT RUN: what needs a browser, since none is here');
  const browser = path === null ? null : await openBrowser(path);
  defer(() => browser?.close());
  return { ...shop, browser };
});

type Fixture = Awaited<ReturnType<typeof openShop>> & {
  browser: Awaited<ReturnType<typeof openBrowser>> | null;
};

/** A visit that must see no error, no refused resource, and nothing of anybody else's. */
async function visit(
  { browser, url }: Fixture,
  body: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  if (browser === null) return;
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options });
  context.setDefaultTimeout(10_000);
  const wrong: string[] = [];
  try {
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text());
    });
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(url)) wrong.push(request.url());
    });
    page.on('dialog', (dialog) => {
      wrong.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(url);
    await body(page);
    assert.equal(wrong, []);
  } finally {
    await context.close();
  }
}

function status(page: Page, hasText: string): Promise<void> {
  return page.locator('#status', { hasText }).waitFor();
}

/** Whether the page is as wide as its window, at most. */
async function fits(page: Page): Promise<void> {
  const [width, window] = (await page.evaluate(
    '[document.documentElement.scrollWidth, innerWidth]',
  )) as number[];
  assert.ok((width ?? 0) <= (window ?? 0), `${width} in ${window} pixels`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Nothing that axe finds wrong. */
async function isAccessible(page: Page): Promise<void> {
  await page.evaluate(axe);
  const found = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  const wrong = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
  assert.equal(wrong, []);
}

const hostile = `<img src=x onerror="alert(1)"> & 'Maria'`;

test('somebody buys something, and gets the money back', async (fixture) => {
  await visit(fixture, async (page) => {
    await page.getByRole('button', { name: 'Add Caparaó to cart' }).click();
    await page.getByRole('button', { name: 'Add Paper filters to cart' }).click();
    await page.getByRole('button', { name: 'One more Caparaó' }).click();
    await page.getByLabel('Your name').fill(hostile);
    assert.match(await page.locator('#cart-total').innerText(), /127,00/);
    await isAccessible(page);
    await page.getByRole('button', { name: 'Pay with Pix' }).click();
    await status(page, 'Waiting for your payment');
    const code = await page.getByLabel('Pix copy and paste').inputValue();
    assert.is(parseBrCode(code).amount, 12_700);
    const qr = page.getByRole('img', { name: 'QR code' });
    await until(() => qr.evaluate('document.getElementById("qr").naturalWidth > 0'), 5_000, 'the QR code');
    await isAccessible(page);
    await page.getByRole('button', { name: 'Play the buyer' }).click();
    // Nothing but the webhook tells the page.
    await status(page, 'Paid. Thank you!');
    assert.is(await page.locator('#receipt-name').innerText(), hostile);
    assert.match(await page.locator('#receipt-id').innerText(), /^E/);
    await isAccessible(page);
    await page.getByRole('button', { name: 'Refund it all' }).click();
    await status(page, 'Refunded');
    await page.getByText('pix-in.refunded').waitFor();
    const events = await page.locator('#events code').allInnerTexts();
    for (const event of ['pix-in.waiting_payment', 'pix-in.paid', 'refund.pending', 'refund.completed'])
      assert.ok(events.includes(event), `${event} in ${events.join()}`);
    await page.getByRole('button', { name: 'Another order' }).click();
    await page.getByText('Nothing in it yet.').waitFor();
  });
});

test('a page that is loaded anew shows its order still', async (fixture) => {
  await visit(fixture, async (page) => {
    await page.getByRole('button', { name: 'Add Paper filters to cart' }).click();
    await page.getByRole('button', { name: 'Pay with Pix' }).click();
    await status(page, 'Waiting for your payment');
    const code = await page.getByLabel('Pix copy and paste').inputValue();
    await page.reload();
    await status(page, 'Waiting for your payment');
    assert.is(await page.getByLabel('Pix copy and paste').inputValue(), code);
    await page.getByRole('button', { name: 'Play the buyer' }).click();
    await status(page, 'Paid. Thank you!');
    await page.reload();
    await status(page, 'Paid. Thank you!');
    await page.getByRole('button', { name: 'Another order' }).click();
    await page.reload();
    await page.getByText('Nothing in it yet.').waitFor();
  });
});

test('an address with an order that is none leads to the cart, and says so', async ({ url, browser }) => {
  if (browser === null) return;
  const page = await browser.newPage();
  await page.goto(`${url}/#${unknownId}`);
  await page.getByText('The shop knows no such order.').waitFor({ timeout: 10_000 });
  await page.getByText('Nothing in it yet.').waitFor({ timeout: 10_000 });
  await page.close();
});

test('it works at 320 pixels, by keyboard alone, in the dark', async (fixture) => {
  const options = { viewport: { width: 320, height: 640 }, colorScheme: 'dark' } as const;
  const press = async (page: Page, name: string) => {
    for (let n = 0; n < 40; n++) {
      await page.keyboard.press('Tab');
      const focused = String(await page.evaluate('document.activeElement?.textContent ?? ""'));
      if (focused.startsWith(name)) return page.keyboard.press('Enter');
    }
    throw new Error(`"${name}" can't be reached`);
  };
  await visit(
    fixture,
    async (page) => {
      await press(page, 'Add Serra');
      await fits(page);
      await isAccessible(page);
      await press(page, 'Pay with Pix');
      await status(page, 'Waiting for your payment');
      await fits(page);
      assert.is(await page.evaluate('document.activeElement.id'), 'order');
      await press(page, 'Play the buyer');
      await status(page, 'Paid. Thank you!');
      await fits(page);
      await isAccessible(page);
      await press(page, 'Refund it all');
      await status(page, 'Refunded');
    },
    options,
  );
});

test('without JavaScript the page says so', async ({ url, browser }) => {
  const path = browserPath();
  if (browser === null || path === null) return;
  const old = await openBrowser(path, ['--blink-settings=scriptEnabled=false']);
  try {
    const page = await old.newPage();
    await page.goto(url);
    // Locators need a script of their own; what is shown is in the tree for screen readers as well.
    const { nodes } = await (await page.context().newCDPSession(page)).send('Accessibility.getFullAXTree');
    const said = nodes.map(({ name }) => String(name?.value ?? ''));
    assert.ok(
      said.some((name) => name.startsWith('This shop needs JavaScript')),
      said.join('\n'),
    );
  } finally {
    await old.close();
  }
});

test('everything comes with a strict policy', async ({ url }) => {
  for (const path of ['/', '/shop.js', '/base.css', '/shop.css', '/icon.svg', '/nothing']) {
    const { status, headers } = await fetchReply('GET', url + path);
    assert.is(status, path === '/nothing' ? 404 : 200, path);
    const policy = headers['content-security-policy'] ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.not.match(policy, /unsafe|\*|https?:/);
    assert.is(headers['x-content-type-options'], 'nosniff');
  }
});

test('what is no order of this shop is refused', async ({ url }) => {
  const order = (body: string, headers: Record<string, string> = json) =>
    fetchReply('POST', `${url}/orders`, body, headers);
  for (const body of [
    ...['', '[]', 'null', '{"cart":', '{"cart": {}}', '{"cart": {"gold": 1}}', '{"cart": {"caparao": 0.5}}'],
    ...['{"cart": {"caparao": -1}}', '{"cart": {"caparao": 21}}', '{"cart": {"__proto__": 1}}'],
  ])
    assert.is((await order(body)).status, 400, body);
  const cart = '{"cart": {"caparao": 1}}';
  assert.is((await order(cart, { 'content-type': 'text/plain' })).status, 415);
  assert.is((await order(`{"cart": {}, "name": "${'x'.repeat(70_000)}"}`)).status, 413);
  assert.is((await order(`{"cart": {"caparao": 1}, "name": "${'x'.repeat(200)}"}`)).status, 400);
  const placed = await order('{"cart": {"caparao": 1}, "total": 1, "price": 1}');
  assert.is(placed.status, 201);
  assert.is(parseBrCode(text(placed.body, 'qrcode')).amount, 5_400);
  // It isn't paid yet.
  assert.is(
    (await fetchReply('POST', `${url}/orders/${text(placed.body, 'id')}/refund`, '{}', json)).status,
    502,
  );
  for (const path of ['pay', 'refund'])
    assert.is((await fetchReply('POST', `${url}/orders/${unknownId}/${path}`, '{}', json)).status, 404);
  for (const path of ['qr.svg', 'events'])
    assert.is((await fetchReply('GET', `${url}/orders/${unknownId}/${path}`)).status, 404);
});

test('however often a refund is asked for, there is one', async ({ url }) => {
  const post = (path: string, body = '{}') => fetchReply('POST', url + path, body, json);
  const id = text((await post('/orders', '{"cart": {"filters": 2}}')).body, 'id');
  assert.is((await post(`/orders/${id}/pay`)).status, 200);
  const asked = await Promise.all([1, 2, 3].map(() => post(`/orders/${id}/refund`)));
  assert.equal(
    asked.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.is((await post(`/orders/${id}/refund`)).status, 200);
});

test('a webhook without the right signature changes nothing', async ({ url }) => {
  const forged = '{"id":"evt_1","event":"pix-in.paid","type":"pix-in","data":{}}';
  const headers = { ...json, 'webhook-id': 'evt_1', 'webhook-signature': 'v1,AAAA' };
  const now = String(Math.floor(Date.now() / 1_000));
  assert.is(
    (await fetchReply('POST', `${url}/webhooks`, forged, { ...headers, 'webhook-timestamp': now })).status,
    401,
  );
  assert.is((await fetchReply('POST', `${url}/webhooks`, forged, json)).status, 401);
});

test('Ctrl+C ends all, and leaves nothing behind', async ({ process, folder, pixstate, url }) => {
  process.child.kill('SIGINT');
  const { code, stderr } = await endWithin(process, 15_000);
  assert.is(code, 0, stderr);
  for (const address of [`${pixstate}/livez`, url])
    assert.ok(
      await fetchReply('GET', address).then(
        () => false,
        () => true,
      ),
      `${address} still answers`,
    );
  assert.equal(
    (await readdir(folder)).filter((name) => name.startsWith('pixstate')),
    [],
  );
});

test('Ctrl+C during the start does, too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-test-'));
  const process = spawnNode(shopEntry, { TMPDIR: folder });
  try {
    const begun = async () => (await readdir(folder)).some((name) => name.startsWith('pixstate-shop-'));
    await until(begun, START_MS, 'the start has begun');
    process.child.kill('SIGINT');
    assert.is((await endWithin(process, START_MS)).code, 0, process.stderr());
    assert.is(await begun(), false);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

run();
