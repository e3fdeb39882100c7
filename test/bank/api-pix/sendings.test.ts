/** Transfers at Efí and Inter: ordered once, asked about, never paid twice. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Order, SendingProfile } from '../../../src/bank/api-pix/profile.ts';
import { scopesOf } from '../../../src/bank/api-pix/profile.ts';
import { efi } from '../../../src/bank/api-pix/profiles/efi.ts';
import { inter } from '../../../src/bank/api-pix/profiles/inter.ts';
import { standard } from '../../../src/bank/api-pix/profiles/standard.ts';
import { Sendings } from '../../../src/bank/api-pix/sendings.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import type { Fields } from '../../support/bank/requests.ts';
import { chargeOrder, failsAs, Scene } from './scene.ts';

const test = suite('transfers at a bank');
const scenes = {} as Record<'efi' | 'inter', Scene>;

test.before(async () => {
  scenes.efi = await Scene.make({ profile: 'efi' });
  scenes.inter = await Scene.make({ profile: 'inter' });
});
test.after(async () => {
  await Promise.all([scenes.efi.end(), scenes.inter.end()]);
});
test.before.each(() => {
  for (const { bank } of Object.values(scenes)) {
    bank.seen.length = 0;
    bank.state.sendings.clear();
  }
});
test.after.each(() => {
  for (const { bank } of Object.values(scenes)) assert.equal(bank.violations, []);
});

function sendingsOf(name: 'efi' | 'inter'): Sendings {
  const { sendings } = scenes[name].us;
  if (sendings === null) throw new Error(`${name} doesn't send`);
  return sendings;
}

function order(over: Partial<Order> = {}): Order {
  const from = OUR_KEY;
  return { id: randomUUID(), amount: 1005, from, to: '+5531999998888', description: null, ...over };
}

test('the standard alone sends nothing', async () => {
  const scene = await Scene.make();
  assert.is(scene.us.sendings, null);
  await scene.end();
});

test('Efí takes an order, and tells of it under our id', async () => {
  const sent = order({ description: 'ç'.repeat(140) });
  const ordered = await sendingsOf('efi').order(sent);
  const id = sent.id.replaceAll('-', '');
  assert.equal([ordered.id, ordered.state, ordered.amount], [id, 'started', 1005]);
  const kept = scenes.efi.bank.state.sendings.get(id);
  assert.equal(JSON.parse(kept?.raw ?? ''), {
    ...{ valor: '10.05', pagador: { chave: OUR_KEY, infoPagador: 'ç'.repeat(139) } },
    favorecido: { chave: '+5531999998888' },
  });
  assert.ok(kept !== undefined);
  Object.assign(kept, { status: 'REALIZADO', settledAt: Date.parse('2026-11-01T12:00:00Z') });
  const told = await sendingsOf('efi').ask({ id: sent.id, bankId: null });
  assert.equal([told?.state, told?.paidAt], ['settled', '2026-11-01T12:00:00.000Z']);
  assert.is(told?.endToEndId, kept.endToEndId);
});

test('an answer about another transfer is none, to an order as to a question', async () => {
  const [sent, another] = [order(), order()];
  const ofOthers = (body: Fields): Fields => ({ ...body, idEnvio: another.id.replaceAll('-', '') });
  scenes.efi.bank.fault('PUT envio', { kind: 'changed', change: ofOthers });
  await failsAs('unknown', sendingsOf('efi').order(sent));
  scenes.efi.bank.fault('GET envio', { kind: 'changed', change: ofOthers });
  await failsAs('unknown', sendingsOf('efi').ask({ id: sent.id, bankId: null }));
  assert.is((await sendingsOf('efi').ask({ id: sent.id, bankId: null }))?.state, 'started');
  const { bankId } = await sendingsOf('inter').order(another);
  const elsewhere = (body: Fields): Fields => ({
    ...body,
    transacaoPix: { ...((body.transacaoPix ?? {}) as Fields), codigoSolicitacao: randomUUID() },
  });
  scenes.inter.bank.fault('GET envio', { kind: 'changed', change: elsewhere });
  await failsAs('unknown', sendingsOf('inter').ask({ id: another.id, bankId }));
  assert.is((await sendingsOf('inter').ask({ id: another.id, bankId }))?.told, 'CRIADO');
});

test('Inter takes an order with a number in it, and is asked by its own id', async () => {
  const sent = order({ amount: 29, description: 'Aluguel' });
  const ordered = await sendingsOf('inter').order(sent);
  const { raw } = scenes.inter.bank.state.sendings.get(sent.id) ?? {};
  const payee = '"destinatario":{"tipo":"CHAVE","chave":"+5531999998888"}';
  assert.is(raw, `{"valor":0.29,"descricao":"Aluguel",${payee}}`);
  assert.is(ordered.state, 'waiting');
  assert.is(sendingsOf('inter').canAsk({ id: sent.id, bankId: null }), false);
  const told = await sendingsOf('inter').ask({ id: sent.id, bankId: ordered.bankId });
  assert.equal([told?.state, told?.told, told?.amount], ['waiting', 'CRIADO', 29]);
  assert.is(told?.endToEndId, ordered.endToEndId);
});

for (const name of ['efi', 'inter'] as const) {
  const call = name === 'efi' ? 'PUT envio' : 'POST envio';

  test(`${name}: an order whose answer is lost is unknown, and the same again pays nothing more`, async () => {
    const { bank } = scenes[name];
    const sent = order();
    bank.fault(call, { kind: 'cut-after' });
    await failsAs('unknown', sendingsOf(name).order(sent));
    assert.is(sendingsOf(name).canRepeat, true);
    if (name === 'efi') {
      await failsAs('unknown', sendingsOf(name).order(sent));
      assert.is((await sendingsOf(name).ask({ id: sent.id, bankId: null }))?.state, 'started');
    } else assert.is((await sendingsOf(name).order(sent)).state, 'waiting');
    assert.is(bank.state.sendings.size, 1);
  });

  test(`${name}: an order that was lost is sent again under its id`, async () => {
    const { bank } = scenes[name];
    const sent = order();
    bank.fault(call, { kind: 'cut-before' });
    await failsAs('unknown', sendingsOf(name).order(sent));
    assert.is(bank.state.sendings.size, 0);
    await sendingsOf(name).order(sent);
    const [first, second] = bank.calls(call);
    assert.equal([first?.path, first?.body], [second?.path, second?.body]);
    assert.is(bank.state.sendings.size, 1);
  });

  test(`${name}: HTML that says it worked is unknown`, async () => {
    scenes[name].bank.fault(call, { kind: 'answer', status: 200, body: '<html>', isDone: true });
    await failsAs('unknown', sendingsOf(name).order(order()));
    scenes[name].bank.fault(call, { kind: 'answer', status: 200, body: '{}', isDone: true });
    await failsAs('unknown', sendingsOf(name).order(order()));
    assert.is(scenes[name].bank.state.sendings.size, 2);
  });

  test(`${name}: charges are the standard's, below its own path`, async () => {
    const { us, bank } = scenes[name];
    await us.charges.register(chargeOrder());
    assert.match(bank.calls('PUT cob')[0]?.path ?? '', name === 'efi' ? /^\/v2\/cob\// : /^\/pix\/v2\/cob\//);
    const granted = us.client.tokens.current?.scopes ?? [];
    assert.equal(
      scopesOf(us.profile).filter((scope) => !granted.includes(scope)),
      [],
    );
  });
}

test('Efí: known half a minute later, though 404 when asked at once', async () => {
  const sent = order();
  scenes.efi.bank.fault('PUT envio', { kind: 'hidden', ms: 200 });
  await sendingsOf('efi').order(sent);
  assert.is(await sendingsOf('efi').ask({ id: sent.id, bankId: null }), null);
  await failsAs('unknown', sendingsOf('efi').order(sent));
  await new Promise((resolve) => setTimeout(resolve, 250));
  assert.is((await sendingsOf('efi').ask({ id: sent.id, bankId: null }))?.state, 'started');
  assert.is(scenes.efi.bank.state.sendings.size, 1);
});

test('Efí: a payee’s key that isn’t there is a refusal, another 404 is not', async () => {
  const { bankName } = await failsAs(
    'refused',
    sendingsOf('efi').order(order({ to: 'ninguem@example.com' })),
  );
  assert.is(bankName, 'chave_favorecido_nao_encontrada');
  scenes.efi.bank.fault('PUT envio', { kind: 'answer', status: 404, body: '{"nome":"outra_coisa"}' });
  await failsAs('not-done', sendingsOf('efi').order(order()));
});

test('Efí lists what it sent, with what came back', async () => {
  const sent = order();
  await sendingsOf('efi').order(sent);
  const kept = scenes.efi.bank.state.sendings.get(sent.id.replaceAll('-', ''));
  const part = { id: 'd1', rtrId: `D${'1'.repeat(31)}`, valor: '5.00', natureza: 'ORIGINAL', at: Date.now() };
  kept?.returns.push({ ...part, status: 'DEVOLVIDO', motivo: 'Conta encerrada' });
  kept?.returns.push({ ...part, id: 'd2', status: 'EM_PROCESSAMENTO' });
  const found = [];
  for await (const page of sendingsOf('efi').list({ from: Date.now() - 1000, to: Date.now() + 1000 }))
    found.push(...page.map((each) => ('unread' in each ? null : each)));
  assert.is(found.length, 1);
  const back = { id: 'd1', returnId: part.rtrId, amount: 500, reason: 'Conta encerrada' };
  assert.equal(found[0]?.returns, [back]);
});

test('Efí’s list may be the array of its transfers alone, in one piece or page by page', async () => {
  const { bank } = scenes.efi;
  for (let nth = 0; nth < 3; nth += 1) await sendingsOf('efi').order(order());
  const window = { from: Date.now() - 60_000, to: Date.now() + 1_000 };
  const ids = async (): Promise<(string | null | undefined)[]> => {
    const found = [];
    for await (const page of sendingsOf('efi').list(window)) found.push(...page.map((each) => each?.id));
    return found;
  };
  const bare = (items: object[]) => ({ kind: 'answer', status: 200, body: JSON.stringify(items) }) as const;
  const counted = await ids();
  assert.is(counted.length, 3);
  const items = [...bank.state.sendings.values()].map(({ id, valor, status, endToEndId }) => {
    return { idEnvio: id, valor, status, endToEndId };
  });
  // One that knows no pages gives the same again.
  bank.fault('LIST envio', bare(items), 2);
  assert.equal(await ids(), counted);
  for (const page of [items.slice(0, 2), items.slice(2), []]) bank.fault('LIST envio', bare(page));
  assert.equal(await ids(), counted);
  bank.fault('LIST envio', { kind: 'answer', status: 200, body: '["x"]' });
  await failsAs('unknown', ids());
});

test('each state of a bank is one of ours, and a strange one is unknown', () => {
  const at = (sending: SendingProfile | null, status: string) => sending?.readAnswer({ status })?.state;
  const efiStates = { EM_PROCESSAMENTO: 'started', REALIZADO: 'settled', NAO_REALIZADO: 'failed' };
  for (const [status, state] of Object.entries(efiStates)) assert.is(at(efi.sending, status), state);
  const interStates = {
    ...{ CRIADO: 'waiting', AGUARDANDO_APROVACAO: 'waiting', APROVADO: 'waiting', ENVIADO: 'started' },
    ...{ PAGO: 'settled', FALHA: 'failed', REPROVADO: 'rejected', EXPIRADO: 'rejected' },
    ...{ CANCELADO: 'canceled', CANCELADO_SEM_SALDO: 'rejected', PARCIALMENTE_PAGO: 'unknown' },
  };
  for (const [status, state] of Object.entries(interStates)) assert.is(at(inter.sending, status), state);
  assert.is(at(efi.sending, 'NOVO'), 'unknown');
  assert.is(efi.sending?.readAnswer({}), null);
});

test('a bank that can’t be trusted with a repeat fits the same type', () => {
  const never: SendingProfile = {
    ...{ scopes: [], repeat: 'never', listPath: null, namesPayee: () => false },
    order: () => ({ method: 'POST', path: '/transfers', body: '{}' }),
    readOrder: ({ id }) => inter.sending?.readOrder({ codigoSolicitacao: id }) ?? null,
    question: ({ bankId }) => (bankId === null ? null : { method: 'GET', path: `/transfers/${bankId}` }),
    readAnswer: () => null,
  };
  const sendings = new Sendings(scenes.inter.us.client, never, '');
  assert.is(sendings.canRepeat, false);
  assert.is(sendings.canAsk({ id: 'x', bankId: null }), false);
  assert.is(sendings.canAsk({ id: 'x', bankId: 'y' }), true);
});

test('client id and secret go out as they are', () => {
  const credentials = { clientId: 'Client_Id_5f', clientSecret: 'a%+/=:b' };
  const plain = `Basic ${Buffer.from('Client_Id_5f:a%+/=:b').toString('base64')}`;
  for (const profile of [standard, efi])
    assert.is(profile.tokenRequest(credentials).headers.authorization, plain);
  const form = new URLSearchParams(inter.tokenRequest(credentials).body);
  assert.equal([form.get('client_id'), form.get('client_secret')], ['Client_Id_5f', 'a%+/=:b']);
  assert.is(inter.tokenRequest(credentials).headers.authorization, undefined);
});

test.run();
