/** Registering, asking, removing: a code only where the bank has the charge that was asked for. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chargeBody, codeOf, readCharge } from '../../../src/bank/api-pix/charges.ts';
import { CallFailed } from '../../../src/bank/api-pix/wire/outcome.ts';
import { composeBrCode, composeDynamicBrCode, parseBrCode } from '../../../src/domain/br-code.ts';
import type { Fault } from '../../support/bank/bank.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import { chargeOrder, failsAs, Scene } from './scene.ts';

const test = suite('charges at a bank');
let scene: Scene;

test.before(async () => {
  scene = await Scene.make();
});
test.after(() => scene.end());
test.before.each(() => {
  scene.bank.seen.length = 0;
  scene.bank.options.copyAndPaste = true;
  scene.bank.options.refusesSecondPut = false;
});
test.after.each(() => {
  assert.equal(scene.bank.violations, [], 'every request keeps to the document');
});

function txidOf({ id }: { id: string }): string {
  return id.replaceAll('-', '');
}

test('a charge costs one call, and has the bank’s own code', async () => {
  const order = chargeOrder();
  const code = parseBrCode(await scene.us.charges.register(order));
  assert.is(code.url, `pix.example.com/qr/v2/${txidOf(order)}`);
  assert.is(code.key, null);
  assert.equal(
    scene.bank.seen.map(({ call }) => call),
    ['token', 'PUT cob'],
  );
  const { body, status } = scene.bank.state.charges.get(txidOf(order)) ?? {};
  assert.equal([status, body], ['ATIVA', JSON.parse(chargeBody(order))]);
});

test('a bank that gives no code, or a wrong one: it is composed from where the charge lies', async () => {
  scene.bank.options.copyAndPaste = false;
  const composed = await scene.us.charges.register(chargeOrder());
  assert.is(parseBrCode(composed).txid, null);
  const broken = { kind: 'changed', change: (body) => ({ ...body, pixCopiaECola: 'garbage' }) } as Fault;
  scene.bank.options.copyAndPaste = true;
  scene.bank.fault('PUT cob', broken);
  const order = chargeOrder({ merchantName: 'Café' });
  const code = parseBrCode(await scene.us.charges.register(order));
  assert.equal([code.url, code.merchantName], [`pix.example.com/qr/v2/${txidOf(order)}`, 'Cafe']);
});

test('a code is taken only where it is sound, dynamic, and this charge’s', () => {
  const order = chargeOrder();
  const location = 'pix.example.com/qr/1';
  const merchant = { merchantName: 'Loja', merchantCity: 'SAO PAULO' };
  const good = composeDynamicBrCode({ url: location, ...merchant });
  const charge = (code: string | null, at: string | null = location) =>
    readCharge({ pixCopiaECola: code, location: at });
  assert.is(codeOf(order, charge(good)), good);
  assert.is(codeOf(order, charge(good, `https://${location}`)), good);
  assert.is(codeOf(order, charge(good, null)), good);
  const elsewhere = composeDynamicBrCode({ url: 'evil.example.com/qr/1', ...merchant });
  const aStatic = composeBrCode({ key: OUR_KEY, amount: 1234, txid: null, ...merchant });
  for (const wrong of [elsewhere, aStatic, `${good.slice(0, -4)}0000`, '', null]) {
    assert.is(codeOf(order, charge(wrong)), good);
  }
  assert.is(codeOf(order, charge(aStatic, null)), null, 'a static code is never made do with');
  assert.is(codeOf(order, charge(null, 'a'.repeat(78))), null);
});

test('neither code nor location: no charge', async () => {
  scene.bank.fault('PUT cob', {
    kind: 'changed',
    change: ({ pixCopiaECola: _, location: __, ...rest }) => rest,
  });
  await failsAs('refused', scene.us.charges.register(chargeOrder()));
});

const WRONG: [string, (body: Record<string, unknown>) => Record<string, unknown>][] = [
  ['amount', (body) => ({ ...body, valor: { original: '12.35' } })],
  ['unreadable amount', (body) => ({ ...body, valor: { original: '12.345' } })],
  ['key', (body) => ({ ...body, chave: 'other@example.com' })],
  ['txid', (body) => ({ ...body, txid: 'a'.repeat(32) })],
  ['state', (body) => ({ ...body, status: 'REMOVIDA_PELO_PSP' })],
];
for (const [what, change] of WRONG) {
  test(`another ${what}: no charge, and the one there is removed`, async () => {
    const order = chargeOrder();
    scene.bank.fault('PUT cob', { kind: 'changed', change });
    await failsAs('refused', scene.us.charges.register(order));
    assert.is(scene.bank.state.charges.get(txidOf(order))?.status, 'REMOVIDA_PELO_USUARIO_RECEBEDOR');
  });
}

test('an answer that is lost is asked for, and nothing is registered twice', async () => {
  const order = chargeOrder();
  scene.bank.fault('PUT cob', { kind: 'cut-after' });
  parseBrCode(await scene.us.charges.register(order));
  assert.is(scene.bank.calls('PUT cob').length, 1);
  assert.is(scene.bank.state.charges.get(txidOf(order))?.revisao, 0);
});

test('a request that was lost is sent again, the same bytes', async () => {
  scene.bank.fault('PUT cob', { kind: 'cut-before' });
  await scene.us.charges.register(chargeOrder());
  const [first, second, ...more] = scene.bank.calls('PUT cob').map(({ body }) => body);
  assert.is(first, second);
  assert.is(more.length, 0);
});

for (const refusesSecondPut of [false, true]) {
  const second = refusesSecondPut ? '409' : 'a revision';
  test(`done, though the bank answers 500 (a second PUT would be ${second})`, async () => {
    scene.bank.options.refusesSecondPut = refusesSecondPut;
    scene.bank.fault('PUT cob', { kind: 'answer', status: 500, isDone: true });
    const order = chargeOrder();
    const code = await scene.us.charges.register(order);
    assert.is(parseBrCode(code).url, `pix.example.com/qr/v2/${txidOf(order)}`);
    assert.is(scene.bank.calls('PUT cob').length, 1);
  });
}

test('a charge that the bank makes known only after the second PUT is the same charge', async () => {
  scene.bank.options.refusesSecondPut = true;
  const order = chargeOrder();
  scene.bank.fault('PUT cob', { kind: 'cut-after' });
  scene.bank.fault('GET cob', {
    ...{
      kind: 'answer',
      status: 404,
      body: '{"type":"https://x/CobNaoEncontrado","title":"x","status":404}',
    },
  });
  parseBrCode(await scene.us.charges.register(order));
  assert.equal(
    scene.bank.seen.map(({ call }) => call),
    ['PUT cob', 'GET cob', 'PUT cob', 'GET cob'],
  );
  assert.is(scene.bank.state.charges.get(txidOf(order))?.revisao, 0);
});

test('what the bank refuses, and what it keeps failing at, makes no charge', async () => {
  await failsAs('refused', scene.us.charges.register(chargeOrder({ expiresInS: 0 })));
  assert.is(scene.bank.violations.length, 1);
  scene.bank.violations.length = 0;
  scene.bank.fault('PUT cob', { kind: 'answer', status: 500 }, 2);
  await failsAs('unknown', scene.us.charges.register(chargeOrder()));
  assert.is(scene.bank.calls('PUT cob').length, 3);
});

test('a debtor is told only with a name, and a CPF or a CNPJ of digits', () => {
  const debtor = (name: string | null, document: string | null) =>
    JSON.parse(chargeBody(chargeOrder({ customer: { name, document } }))).devedor;
  assert.equal(debtor('Ana', '52998224725'), { cpf: '52998224725', nome: 'Ana' });
  assert.equal(debtor('Loja', '11222333000181'), { cnpj: '11222333000181', nome: 'Loja' });
  for (const [name, document] of [
    [null, '52998224725'],
    ['Ana', null],
    ['Ana', '12345678901'],
    ['Loja', '12ABC34501DE35'],
  ] as const) {
    assert.is(debtor(name, document), undefined);
  }
});

test('the payer reads the additional information, else the beginning of the description', async () => {
  const asked = (over: Parameters<typeof chargeOrder>[0]) =>
    JSON.parse(chargeBody(chargeOrder(over))).solicitacaoPagador;
  assert.is(asked({ additionalInfo: 'Mesa 7', description: 'Jantar' }), 'Mesa 7');
  assert.is(asked({ description: 'ç'.repeat(500) }), 'ç'.repeat(140));
  assert.is(asked({}), undefined);
  const everything = { additionalInfo: '😀'.repeat(140), customer: { name: 'Ana', document: '52998224725' } };
  await scene.us.charges.register(chargeOrder(everything));
});

test('asking finds the charge with its payments, and nothing where there is nothing', async () => {
  const order = chargeOrder();
  assert.is(await scene.us.charges.ask(order.id), null);
  await scene.us.charges.register(order);
  const at = Date.parse('2026-11-01T12:00:00.123Z');
  const { endToEndId } = scene.bank.state.pay({ txid: txidOf(order), amount: '12.34', key: OUR_KEY, at });
  const charge = await scene.us.charges.ask(order.id);
  assert.equal([charge?.status, charge?.amount, charge?.pixKey], ['CONCLUIDA', 1234, OUR_KEY]);
  const paidAt = '2026-11-01T12:00:00.123Z';
  const rest = { txid: txidOf(order), amount: 1234, pixKey: OUR_KEY, returns: [] };
  assert.equal(charge?.payments, [{ endToEndId, ...rest, paidAt }]);
});

test('removing a charge removes it once; a paid one is not removed', async () => {
  const order = chargeOrder();
  await scene.us.charges.register(order);
  assert.is((await scene.us.charges.remove(order.id)).status, 'REMOVIDA_PELO_USUARIO_RECEBEDOR');
  await failsAs('refused', scene.us.charges.remove(order.id));
  const paid = chargeOrder();
  await scene.us.charges.register(paid);
  scene.bank.state.pay({ txid: txidOf(paid), amount: '12.34', key: OUR_KEY });
  await failsAs('refused', scene.us.charges.remove(paid.id));
});

/** What a call may meet; each is done once. */
const faults: fc.Arbitrary<Fault | null> = fc.constantFrom<Fault | null>(
  null,
  { kind: 'cut-before' },
  { kind: 'cut-after' },
  { kind: 'answer', status: 500 },
  { kind: 'answer', status: 500, isDone: true },
  { kind: 'answer', status: 201, body: '<html>', isDone: true },
  { kind: 'answer', status: 409, body: '{"nome":"txid_duplicado"}' },
  { kind: 'answer', status: 404, body: '<html>' },
  { kind: 'answer', status: 404, body: '{"type":"https://x/CobNaoEncontrado","title":"x","status":404}' },
);

test('whatever calls meet, a code is given only for the one charge that can be paid', async () => {
  const calls = fc.array(faults, { maxLength: 2 });
  await fc.assert(
    fc.asyncProperty(calls, calls, fc.boolean(), async (puts, gets, refusesSecondPut) => {
      const { bank, us } = scene;
      bank.clearFaults();
      bank.options.refusesSecondPut = refusesSecondPut;
      // None stands for a call that goes well before the next one doesn't.
      for (const fault of puts) bank.fault('PUT cob', fault ?? { kind: 'slow', ms: 0 });
      for (const fault of gets) bank.fault('GET cob', fault ?? { kind: 'slow', ms: 0 });
      us.client.breaker.succeeded(us.client.breaker.begin());
      const order = chargeOrder();
      const code = await us.charges.register(order).catch((error: unknown) => {
        if (!(error instanceof CallFailed)) throw error;
        return null;
      });
      const there = bank.state.charges.get(txidOf(order));
      const isSound = code === null || parseBrCode(code).url === there?.location;
      assert.ok(isSound && (code === null || there?.status === 'ATIVA'));
      const bodies = bank.calls('PUT cob').filter(({ path }) => path.endsWith(txidOf(order)));
      assert.ok(new Set(bodies.map(({ body }) => body)).size === 1 && bodies.length <= 2);
    }),
    { numRuns: 150 },
  );
  scene.bank.clearFaults();
});

test.run();
