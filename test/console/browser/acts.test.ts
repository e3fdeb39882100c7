/** What operators do in a browser: one dialog for all of it, under their names, and nothing of it for who only reads. */
import type { Locator, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { merchant } from '../../support/client.ts';
import { charge, told, transfer } from '../../support/flows.ts';
import { at, type Json, list, text, whole } from '../../support/json.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/wait.ts';
import { origin, visitor } from '../visitor.ts';
import { check, LOOKS } from './looks.ts';
import { browserSuite, forgive, type Stage } from './stage.ts';

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

async function transaction({ server }: Stage, id: string): Promise<Json> {
  return (await (await visitor(server)).get(`/transactions/${id}`)).body;
}

/** The page shows the buttons once it is read. */
async function shown(page: Page): Promise<void> {
  await page.locator('.acts button').first().waitFor();
}

const receivers: Receiver[] = [];

browserSuite("a browser's acts", (test) => {
  test.after(async () => {
    for (const receiver of receivers) await receiver.close();
  });

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

  test('keys alone do it, and what is typed at once is the reason', async (stage) => {
    const id = await paid(stage);
    const watched = await stage.enter(`/transactions/${id}`);
    const { page } = watched;
    await shown(page);
    await page.keyboard.press('s');
    // Not a letter is lost, however soon it comes.
    await page.keyboard.type('it was asked for');
    await opened(page);
    assert.is(await page.locator('dialog.act .field input').last().inputValue(), 'it was asked for');
    // No message is taken for granted.
    await page.keyboard.press('Enter');
    assert.is(await page.locator('dialog.act[open]').count(), 1);
    await page.locator('dialog.act input[value=PROTEST]').focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await closed(page);
    await page.locator('.state.lit[data-state=in_protest]').waitFor();
    // Escape closes, and the focus is where it was.
    const button = page.getByRole('button', { name: 'Send a message' });
    await button.focus();
    await page.keyboard.press('Enter');
    await opened(page);
    await page.keyboard.press('Escape');
    await closed(page);
    assert.match(String(await page.evaluate('document.activeElement.textContent')), /Send a message/);
    await watched.close();
  });

  test('what is typed before the dialog is there is in it when it comes; Escape takes it back', async (stage) => {
    const watched = await stage.enter(`/transactions/${await paid(stage)}`);
    const { page } = watched;
    // The dialog's script comes when it is let through.
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    await page.route('**/dialog*.js', async (route) => {
      asked += 1;
      await held;
      await route.continue();
    });
    await page.reload();
    await shown(page);
    await page.keyboard.press('s');
    await page.keyboard.type('no');
    await page.keyboard.press('Escape');
    await page.keyboard.press('s');
    // None of these letters is a key of the page's.
    await page.keyboard.type('pedido no balcão, g t');
    assert.is(await page.locator('dialog.act').count(), 0);
    release();
    await opened(page);
    assert.is(asked, 1);
    assert.is(await page.locator('dialog.act .field input').last().inputValue(), 'pedido no balcão, g t');
    await page.keyboard.type(' n');
    await page.locator('dialog.act input[value=PROTEST]').check();
    await page.locator('dialog.act', { hasText: 'pedido no balcão, g t n' }).waitFor();
    await watched.close();
  });

  test('a message refused meanwhile by what another did is said, and nothing is lost', async (stage) => {
    const payout = text(await transfer(stage.shop, 4_007), 'id');
    const watched = await stage.enter(`/transactions/${payout}`);
    const { page } = watched;
    await shown(page);
    await page.locator('.chart [data-message=SETTLE].can').first().click();
    await opened(page);
    // A result implies the start: the dialog tells where that ends.
    await page.locator('dialog.act', { hasText: 'from “pending” to “processing” → “completed”' }).waitFor();
    await page.keyboard.type('the bank says that it is paid');
    const rui = await visitor(stage.server, ['--role', 'operator', '--by', 'Rui']);
    const body = { id: 'first', reason: 'the bank says that it failed', type: 'FAIL' };
    assert.is((await rui.act('POST', `/transactions/${payout}/messages`, body)).status, 200);
    await page.keyboard.press('Enter');
    await page.locator('dialog.act [role=alert]', { hasText: 'Nothing was changed' }).waitFor();
    assert.match((await page.locator('dialog.act [role=alert]').textContent()) ?? '', /“failed”/);
    assert.is(
      await page.locator('dialog.act .field input').last().inputValue(),
      'the bank says that it is paid',
    );
    // What is behind is read afresh.
    await page.locator('.state.lit[data-state=failed]').waitFor({ state: 'attached' });
    forgive(watched, 409);
    await watched.close();
    assert.is(text(await transaction(stage, payout), 'status'), 'failed');
  });

  test('a stuck transfer is settled, and the balance stays right', async (stage) => {
    const before = await stage.shop.balance();
    const payout = text(await transfer(stage.shop, 5_007), 'id');
    const watched = await stage.enter(`/transactions/${payout}`);
    const { page } = watched;
    await shown(page);
    await page.getByRole('button', { name: 'Send a message' }).click();
    await opened(page);
    await page.keyboard.type('asked the bank by phone');
    await page.locator('dialog.act input[value=SETTLE]').check();
    await page.getByRole('button', { name: 'Send SETTLE' }).click();
    await closed(page);
    await page.locator('.state.lit[data-state=completed]').waitFor();
    assert.is(await stage.shop.balance(), before - 5_007 - 50);
    await watched.close();
  });

  test('a charge is refunded in part, with the amount that is typed', async (stage) => {
    const id = await paid(stage);
    const watched = await stage.enter(`/transactions/${id}`);
    const { page } = watched;
    await shown(page);
    await page.getByRole('button', { name: 'Refund' }).click();
    await opened(page);
    await page.keyboard.type('half of it was broken');
    const amount = page.locator('dialog.act .field input').first();
    for (const wrong of ['100.50', '1,5', '0', '204,51', 'x']) {
      await amount.fill(wrong);
      assert.is(await page.locator('dialog.act [type=submit]').getAttribute('aria-disabled'), 'true', wrong);
    }
    await amount.fill('100,50');
    await page.getByRole('button', { name: 'Refund R$\u00a0100,50' }).click();
    await closed(page);
    const refunds = list((await stage.shop.get(`/pix-in/${id}/refunds`)).body, 'data');
    assert.equal(
      refunds.map((refund) => whole(refund, 'amount')),
      [10_050],
    );
    await watched.close();
  });

  test('who only reads sees every button, disabled, and is told why', async (stage) => {
    const id = await paid(stage);
    const watched = await stage.enter(`/transactions/${id}`, {}, 'viewer');
    const { page } = watched;
    for (const path of [`/transactions/${id}`, `/accounts/${stage.shop.accountId}`]) {
      await page.goto(origin(stage.server) + path);
      await shown(page);
      const buttons = page.locator('.acts button');
      assert.ok((await buttons.count()) > 0);
      for (const button of await buttons.all()) {
        assert.is(await button.getAttribute('aria-disabled'), 'true');
        assert.match((await button.getAttribute('title')) ?? '', /Only operators/);
        await button.click({ force: true });
      }
      assert.is(await page.locator('dialog.act').count(), 0);
    }
    await page.goto(`${origin(stage.server)}/transactions/${id}`);
    await shown(page);
    assert.is(await page.locator('.chart .can').count(), 0);
    await page.keyboard.press('s');
    assert.is(await page.locator('dialog[open]').count(), 0);
    await watched.close();
  });

  test('a rotated secret is shown once, and settings change', async (stage) => {
    const own = await merchant(stage.server, ['--name', 'Padaria', '--webhook-url', 'http://127.0.0.1:9/a']);
    const watched = await stage.enter(`/accounts/${own.accountId}`);
    const { page } = watched;
    await shown(page);
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await opened(page);
    await page.keyboard.type('a new till');
    await page
      .locator('dialog.act textarea')
      .first()
      .fill('http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b, pix-in.paid');
    await page.getByRole('button', { name: 'Change', exact: true }).last().click();
    await page.locator('dialog.act .outcome', { hasText: 'whsec_' }).waitFor();
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await closed(page);
    assert.is(await page.locator('.urls li').count(), 2);
    await page.getByRole('button', { name: 'Rotate the credentials' }).click();
    await opened(page);
    await page.keyboard.type('a laptop was lost');
    await page.keyboard.press('Enter');
    const secret = page.locator('dialog.act .outcome', { hasText: 'sk_' });
    await secret.waitFor();
    await page.keyboard.press('Escape');
    await closed(page);
    // A closed dialog's content goes with the next drawing.
    await secret.waitFor({ state: 'detached' });
    await watched.close();
  });

  test('a secret that another rotates meanwhile isn’t ended unseen: it is said, and confirmed once more', async (stage) => {
    for (const [language, button, said, warned] of [
      ['en-GB', 'Rotate the credentials', 'Somebody else has changed', 'what somebody else was just shown'],
      ['pt-BR', 'Trocar credenciais', 'foi mudada por outra pessoa', 'outra pessoa acabou de ver'],
    ] as const) {
      const own = await merchant(stage.server, ['--name', 'Tapeçaria']);
      const watched = await stage.enter(`/accounts/${own.accountId}`, { language });
      const { page } = watched;
      await shown(page);
      await page.getByRole('button', { name: button }).click();
      await opened(page);
      await page.keyboard.type('a laptop was lost');
      const rui = await visitor(stage.server, ['--role', 'operator', '--by', 'Rui']);
      const path = `/accounts/${own.accountId}/rotate`;
      const pair = (await rui.act('POST', path, { id: 'office', reason: 'the office' })).body;
      const confirm = page.locator('dialog.act [type=submit]');
      await confirm.click();
      await page.locator('dialog.act [role=alert]', { hasText: said }).waitFor();
      await page.locator('dialog.act .given', { hasText: warned }).waitFor();
      const authorization = `Basic ${btoa(`${text(pair, 'clientId')}:${text(pair, 'clientSecret')}`)}`;
      const works = async () => (await own.get('/balance', { authorization })).status === 200;
      await until(works, 5_000, 'the pair that Rui was shown opens the account');
      await confirm.click();
      await page.locator('dialog.act .outcome', { hasText: 'sk_' }).waitFor();
      await page.keyboard.press('Escape');
      await closed(page);
      forgive(watched, 409);
      await watched.close();
    }
  });

  test('an account gets a Pix key of its own, and goes back to the one that is made of its id', async (stage) => {
    const own = await merchant(stage.server, ['--name', 'Quitanda']);
    const code = async () => text(await charge(own, 1_000), 'pix.qrcode');
    const before = /br\.gov\.bcb\.pix01\d{2}[0-9a-f-]{36}/.exec(await code())?.[0] ?? '';
    assert.is.not(before, '');
    const typed = 'br.gov.bcb.pix0122caixa@quitanda.example';
    const watched = await stage.enter(`/accounts/${own.accountId}`);
    const { page } = watched;
    const change = async (field: string, act: (field: Locator) => Promise<void>): Promise<void> => {
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await opened(page);
      await page.keyboard.type('the bank has registered it');
      await act(page.locator('dialog.act').getByLabel(field));
      await page.locator('dialog.act [type=submit]').click();
      await page.locator('dialog.act', { hasText: 'The account was changed.' }).waitFor();
      await page.keyboard.press('Escape');
      await closed(page);
    };
    await shown(page);
    await change('Another Pix key', (field) => field.fill(' caixa@quitanda.example '));
    await until(async () => (await code()).includes(typed), 5_000, 'codes have the key');
    await change('Back to the Pix key', (field) => field.check());
    await until(async () => (await code()).includes(before), 5_000, 'codes have the first key');
    await watched.close();
  });

  test('settings that another changes meanwhile are shown beside what was typed, and confirmed once more', async (stage) => {
    for (const [language, button, said, done] of [
      ['en-GB', 'Change', 'Somebody else has changed the account', 'The account was changed.'],
      ['pt-BR', 'Mudar', 'foi mudada por outra pessoa', 'A conta foi mudada.'],
    ] as const) {
      const own = await merchant(stage.server, ['--name', 'Oficina']);
      const watched = await stage.enter(`/accounts/${own.accountId}`, { language });
      const { page } = watched;
      await shown(page);
      await page.getByRole('button', { name: button, exact: true }).click();
      await opened(page);
      await page.keyboard.type('the till');
      const allowed = page.locator('dialog.act textarea').last();
      await allowed.fill('10.0.0.2');
      const rui = await visitor(stage.server, ['--role', 'operator', '--by', 'Rui']);
      const body = {
        id: 'office',
        reason: 'the office',
        allowedIps: ['10.0.0.1', '10.0.0.3'],
        maxAmount: 700,
      };
      assert.is((await rui.act('PATCH', `/accounts/${own.accountId}`, body)).status, 200);
      const confirm = page.locator('dialog.act [type=submit]');
      await confirm.click();
      await page.locator('dialog.act [role=alert]', { hasText: said }).waitFor();
      assert.is(await allowed.inputValue(), '10.0.0.2');
      assert.is(await page.locator('dialog.act .field input').last().inputValue(), 'the till');
      assert.match(
        (await page.locator('dialog.act .present').textContent()) ?? '',
        /10\.0\.0\.1; 10\.0\.0\.3/,
      );
      // A field that nobody has typed into shows what is there now.
      assert.is(await page.locator('dialog.act .field input').first().inputValue(), '7,00');
      await check(watched, `act settings meanwhile ${language}`);
      await confirm.click();
      await page.locator('dialog.act', { hasText: done }).waitFor();
      await page.keyboard.press('Escape');
      await closed(page);
      const account = (await rui.get(`/accounts/${own.accountId}`)).body;
      assert.equal(list(account, 'allowedIps'), ['10.0.0.2']);
      assert.is(whole(account, 'settings.maxAmount'), 700);
      forgive(watched, 409);
      await watched.close();
    }
  });

  test('a dead delivery is sent again, and a URL is asked before all the rest is', async (stage) => {
    const receiver = await startReceiver();
    receivers.push(receiver);
    let isUp = false;
    receiver.answer('/erp', () => ({ status: isUp ? 200 : 400 }));
    const url = receiver.url('/erp');
    const own = await merchant(stage.server, ['--name', 'Bazar', '--webhook-url', url]);
    for (let nth = 0; nth < 25; nth++) await charge(own, 2_050);
    await receiver.waitForCount('/erp', 25, 20_000);
    const watched = await stage.enter(`/deliveries?account=${own.accountId}&status=rejected`);
    const { page } = watched;
    await page.locator('.deliveries button.row').first().waitFor();
    const all = page.getByRole('button', { name: 'Send all failed again' });
    const ask = async () => {
      await all.first().click();
      await opened(page);
      await page.keyboard.type('the ERP was down');
      await page.keyboard.press('Enter');
    };
    await ask();
    await page.locator('dialog.act .outcome', { hasText: 'answered 400' }).waitFor();
    await page.getByRole('button', { name: 'Send the rest' }).click();
    await page.locator('dialog.act .outcome', { hasText: 'stopped by itself' }).waitFor();
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await closed(page);
    isUp = true;
    // One by its row.
    await page.locator('.deliveries button.row').first().click();
    await page.getByRole('button', { name: 'Send again', exact: true }).click();
    await opened(page);
    await page.keyboard.type('they ask for it');
    const before = receiver.at('/erp').length;
    await page.keyboard.press('Enter');
    await closed(page);
    await receiver.waitForCount('/erp', before + 1, 10_000);
    await ask();
    await page.locator('dialog.act .outcome', { hasText: 'answered 200' }).waitFor();
    await page.getByRole('button', { name: 'Send the rest' }).click();
    await page.locator('dialog.act .outcome', { hasText: 'It is over' }).waitFor();
    await check(watched, 'act run over a URL');
    await page.keyboard.press('Escape');
    await page.locator('.deliveries .empty').waitFor();
    await watched.close();
  });

  test('of 200 dead deliveries all are sent again: a run stops itself, and one that is taken is the end', async (stage) => {
    const many = 200;
    const receiver = await startReceiver();
    receivers.push(receiver);
    let isUp = false;
    receiver.answer('/fora', () => ({ status: isUp ? 200 : 503 }));
    const url = receiver.url('/fora');
    const own = await merchant(stage.server, ['--name', 'Mercearia Fora', '--webhook-url', url]);
    for (let nth = 0; nth < many; nth++) await charge(own, 2_050);
    const eva = await visitor(stage.server);
    const dead = async (): Promise<number> => {
      let count = 0;
      for (let after = ''; ; ) {
        const filter = `account=${own.accountId}&status=dead&limit=100${after}`;
        const { body } = await eva.get(`/deliveries?${filter}`);
        count += list(body, 'rows').length;
        if (at(body, 'after') === null) return count;
        after = `&after=${encodeURIComponent(text(body, 'after'))}`;
      }
    };
    await until(async () => (await dead()) === many, 60_000, 'all are dead');
    const watched = await stage.enter('/');
    const { page } = watched;
    const card = page.locator('.cause', { hasText: url });
    await card.getByText(String(many)).first().waitFor();
    const ask = async () => {
      await card.getByRole('button', { name: 'Send all failed again' }).click();
      await opened(page);
      await page.keyboard.type('the shop was down');
      await page.keyboard.press('Enter');
    };
    await ask();
    await page.locator('dialog.act .outcome', { hasText: 'answered 503' }).waitFor();
    const before = receiver.at('/fora').length;
    await page.getByRole('button', { name: 'Send the rest' }).click();
    await page.locator('dialog.act .outcome', { hasText: 'stopped by itself' }).waitFor();
    const tried = receiver.at('/fora').length - before;
    assert.ok(tried >= 5 && tried < many, `${tried} requests`);
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await closed(page);
    // What the run began goes on by itself: it dies again, or is delivered.
    await until(async () => (await dead()) === many, 60_000, 'all are dead again');
    isUp = true;
    await ask();
    await page.locator('dialog.act .outcome', { hasText: 'answered 200' }).waitFor();
    await page.getByRole('button', { name: 'Send the rest' }).click();
    await page.locator('dialog.act .outcome', { hasText: 'It is over' }).waitFor({ timeout: 60_000 });
    assert.is(await dead(), 0);
    await page.keyboard.press('Escape');
    await card.waitFor({ state: 'detached' });
    await page.goto(`${origin(stage.server)}/deliveries?account=${own.accountId}&status=dead`);
    await page.locator('.deliveries .empty').waitFor();
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
