/** What the chart shows as walked is what the entries say: for every scenario of the sandbox, of both kinds. */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { Entry, TransactionDocument } from '../../../src/console/shapes.ts';
import { charge, tell, told, transfer } from '../../support/flows.ts';
import { text } from '../../support/json.ts';
import { until } from '../../support/wait.ts';
import { visitor } from '../visitor.ts';
import { browserSuite, enterBy, type Stage } from './stage.ts';

/** Pairs of states that a path of entries has, by the entries alone. */
function pairsOf(entries: readonly Entry[]): string[] {
  const pairs = entries
    .filter(({ refusal, from, to }) => refusal === null && from !== to)
    .flatMap(({ from, to, message }) =>
      // A result before its START implies the START: the way leads over the state between.
      from === 'pending' && (to === 'completed' || to === 'failed') && message.type !== 'START'
        ? ['pending processing', `processing ${to}`]
        : [`${from ?? ''} ${to}`],
    );
  return [...new Set(pairs)].sort();
}

interface Drawn {
  walked: string[];
  lit: string[];
  last: string[];
  states: string[];
}

/** What data the parts of the chart have that a selector names. */
function parts(page: Page, selector: string): Promise<Record<string, string>[]> {
  return page
    .locator(`.statechart .chart ${selector}`)
    .evaluateAll((all) => all.map((part) => ({ ...part.dataset }) as Record<string, string>));
}

async function drawn(page: Page): Promise<Drawn> {
  const pairs = async (selector: string) =>
    (await parts(page, selector)).map(({ from, to }) => `${from} ${to}`).sort();
  const states = async (selector: string) =>
    (await parts(page, selector)).map(({ state }) => state ?? '').sort();
  return {
    walked: await pairs('.edge.walked'),
    last: await pairs('.edge.last'),
    lit: await states('.state.lit'),
    states: await states('.state.walked'),
  };
}

/** Waits until the sandbox has said all: nothing new for a while. */
async function settled(stage: Stage, ids: readonly string[]): Promise<TransactionDocument[]> {
  const { get } = await visitor(stage.server, ['--role', 'operator']);
  const read = async () =>
    Promise.all(
      ids.map(async (id) => (await get(`/transactions/${id}`)).body as unknown as TransactionDocument),
    );
  let before = -1;
  return until(
    async () => {
      const documents = await read();
      const count = documents.reduce((sum, { entries }) => sum + entries.length, 0);
      const isSame = count === before;
      before = count;
      await new Promise((resolve) => setTimeout(resolve, 600));
      return isSame && documents;
    },
    30_000,
    'the scenarios end',
  );
}

async function compare(stage: Stage, documents: readonly TransactionDocument[]): Promise<void> {
  const watched = await stage.enter('/transactions');
  const { page } = watched;
  for (const { id, status, entries, amount } of documents) {
    await page.goto(`${new URL(page.url()).origin}/transactions/${id}`);
    await page.locator('.state.lit').waitFor();
    const shown = await drawn(page);
    const name = `${amount} ${status}`;
    const taken = entries.filter(({ refusal, from, to }) => refusal === null && from !== to);
    if (taken.length > 0)
      assert.ok(shown.last.length > 0 && shown.last.every((pair) => shown.walked.includes(pair)));
    assert.equal(shown.walked, pairsOf(entries), name);
    assert.equal(shown.lit, [status], name);
    const states = new Set(
      pairsOf(entries).flatMap((pair) => pair.split(' ').filter((state) => state !== '')),
    );
    assert.equal(shown.states, [...states].sort(), name);
    assert.is(await page.locator('.history .entry').count(), entries.length, name);
    assert.is(
      await page.locator('.history .entry.refused').count(),
      entries.filter(({ refusal }) => refusal !== null).length,
      name,
    );
  }
  await watched.close();
}

browserSuite('a browser draws paths', (test) => {
  test('every scenario of a charge', async (stage) => {
    const ids: string[] = [];
    for (let cents = 0; cents <= 10; cents += 1)
      ids.push(text(await charge(stage.shop, 20_000 + cents), 'id'));
    const documents = await settled(stage, ids);
    const reached = new Set(documents.map(({ status }) => status));
    for (const status of [
      'waiting_payment',
      'paid',
      'refused',
      'failed',
      'canceled',
      'refunded',
      'chargedback',
    ])
      assert.ok(reached.has(status), `${status} of ${[...reached]}`);
    await compare(stage, documents);
  });

  test('every scenario of a transfer, SETTLE before START too', async (stage) => {
    const ids: string[] = [];
    for (let cents = 1; cents <= 9; cents += 1)
      ids.push(text(await transfer(stage.shop, 3_000 + cents), 'id'));
    const documents = await settled(stage, ids);
    const reached = new Set(documents.map(({ status }) => status));
    for (const status of ['pending', 'processing', 'completed', 'failed', 'rejected', 'cancelled'])
      assert.ok(reached.has(status), `${status} of ${[...reached]}`);
    const overtaken = documents.find(({ amount }) => amount === 3_008);
    assert.equal(pairsOf(overtaken?.entries ?? []), [
      ' pending',
      'pending processing',
      'processing completed',
    ]);
    await compare(stage, documents);
  });

  test('the path is scrubbed by its keys, and Esc leads back', async (stage) => {
    const id = text(await charge(stage.shop, 20_000), 'id');
    for (const type of ['PAY', 'PROTEST', 'DISMISS']) await told(stage.shop, id, type);
    const watched = await stage.enter(`/transactions/${id}`);
    const { page } = watched;
    const state = () => page.locator('.state.lit').getAttribute('data-state');
    await page.locator('.state.lit').waitFor();
    const seen = [await state()];
    for (const key of ['[', '[', '[', ']']) {
      await page.keyboard.press(key);
      seen.push(await state());
    }
    assert.equal(seen, ['paid', 'in_protest', 'paid', 'waiting_payment', 'paid']);
    await page.keyboard.press('Escape');
    await page.getByText('step 4 of 4').waitFor();
    // PROTEST's line was walked before: of it only the label says that it is possible again. A refund has a button.
    assert.is(await page.locator('.edge.next').count(), 2);
    const next = await page
      .locator('.label.next')
      .evaluateAll((all) => all.map((each) => each.getAttribute('data-message')));
    assert.equal(next.sort(), ['CHARGEBACK', 'PROTEST', 'REFUND']);
    await watched.close();
  });

  test("why a message was refused is told in the reader's language", async (stage) => {
    const id = text(await charge(stage.shop, 20_000), 'id');
    await tell(stage.shop, id, 'APPROVE');
    for (const [language, why] of [
      ['en-GB', 'a pix-in that is waiting_payment does not take APPROVE'],
      ['pt-BR', 'uma cobrança no estado waiting_payment não aceita APPROVE'],
    ] as const) {
      const watched = await stage.enter(`/transactions/${id}`, { language });
      await watched.page.locator('.history .entry.refused').getByText(why).waitFor();
      await watched.close();
    }
  });

  test('a payment that came twice names its Pix, though it was refused', async (stage) => {
    const id = text(await charge(stage.shop, 20_000), 'id');
    const [first, second] = ['E12345678202601021530abcdefghij1', 'E12345678202601021530abcdefghij2'] as const;
    for (const endToEndId of [first, second]) await tell(stage.shop, id, 'PAY', { endToEndId });
    const watched = await stage.enter(`/transactions/${id}`);
    const refused = watched.page.locator('.history .entry.refused');
    await refused.getByText(second, { exact: true }).waitFor();
    assert.is(await refused.getByText(first, { exact: true }).count(), 0);
    await watched.close();
  });

  test("a browser whose clock is an hour off counts down by the server's", async (stage) => {
    // Not 600: a page that is drawn within a second of the charge rightly says 10:00.
    const id = text(await charge(stage.shop, 20_000, { expiresIn: 590 }), 'id');
    for (const hours of [1, -1]) {
      const watched = await stage.open();
      const shift = `const real = Date.now; Date.now = () => real() + ${hours * 3_600_000};`;
      await watched.page.addInitScript({ content: shift });
      await enterBy(watched, stage.server, 'operator', `/transactions/${id}`);
      assert.match((await watched.page.getByRole('timer').textContent()) ?? '', /^0[6-9]:\d\d$/);
      await watched.close();
    }
  });

  test('a page that is open shows what comes', async (stage) => {
    const id = text(await charge(stage.shop, 20_000), 'id');
    const watched = await stage.enter(`/transactions/${id}`);
    const { page } = watched;
    await page.locator('.state.lit[data-state="waiting_payment"]').waitFor();
    assert.match((await page.getByRole('timer').textContent()) ?? '', /^(\d+ d |\d+:)?(\d\d:)?\d\d:\d\d$/);
    assert.is(await page.locator('.alarm.running').count(), 1);
    await told(stage.shop, id, 'PAY');
    await page.locator('.state.lit[data-state="paid"]').waitFor({ timeout: 5_000 });
    await page.getByText('sums to zero').first().waitFor();
    await watched.close();
  });
});
