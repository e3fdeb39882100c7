/** Payments, returns and webhooks at a bank. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Payment, readPayment, type UnreadPayment } from '../../../src/bank/api-pix/payments.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import type { Fields } from '../../support/bank/requests.ts';
import { failsAs, Scene } from './scene.ts';

const test = suite('payments at a bank');
let scene: Scene;

test.before(async () => {
  scene = await Scene.make();
});
test.after(() => scene.end());
test.before.each(() => {
  scene.bank.seen.length = 0;
});
test.after.each(() => assert.equal(scene.bank.violations, []));

const DAY = 86_400_000;
const DAY_ONE = Date.parse('2026-10-01T00:00:00.000Z');

async function all(pages: AsyncGenerator<(Payment | UnreadPayment)[]>): Promise<(string | null)[]> {
  const ids: (string | null)[] = [];
  for await (const page of pages) ids.push(...page.map(({ endToEndId }) => endToEndId));
  return ids;
}

test('a list is read to its last page, and holds its window', async () => {
  const paid: string[] = [];
  for (let nth = 0; nth < 2_050; nth++) {
    const at = DAY_ONE + nth * 1000;
    paid.push(scene.bank.state.pay({ amount: '1.00', key: OUR_KEY, at }).endToEndId);
  }
  const window = { from: DAY_ONE, to: DAY_ONE + 2_049_000 };
  assert.equal(await all(scene.us.payments.list(window)), paid);
  assert.is(scene.bank.calls('LIST pix').length, 3);
  assert.is((await all(scene.us.payments.list({ from: DAY_ONE + 1, to: DAY_ONE + 5_000 }))).length, 5);
  assert.equal(await all(scene.us.payments.list({ from: DAY_ONE - DAY, to: DAY_ONE - 1 })), []);
});

test('a list of which a page fails, or that hides how long it is, is no list', async () => {
  const window = { from: DAY_ONE, to: DAY_ONE + 2_049_000 };
  scene.bank.fault('LIST pix', { kind: 'changed', change: ({ parametros: _, ...rest }) => rest });
  await failsAs('unknown', all(scene.us.payments.list(window)));
  const first = (body: Record<string, unknown>) => {
    const paginacao = { paginaAtual: 0, itensPorPagina: 1000, quantidadeDePaginas: 3 };
    return { ...body, parametros: { paginacao } };
  };
  scene.bank.fault('LIST pix', { kind: 'changed', change: first }, 2);
  await failsAs('unknown', all(scene.us.payments.list(window)));
  scene.bank.fault('LIST pix', { kind: 'slow', ms: 0 });
  scene.bank.fault('LIST pix', { kind: 'answer', status: 200, body: '<html>' });
  await failsAs('unknown', all(scene.us.payments.list(window)));
  const empty = ({ pix: _pix, ...rest }: Record<string, unknown>) => rest;
  scene.bank.fault('LIST pix', { kind: 'changed', change: empty });
  await failsAs('unknown', all(scene.us.payments.list(window)));
  // Of payments nobody gives the items alone.
  scene.bank.fault('LIST pix', { kind: 'answer', status: 200, body: '[]' });
  await failsAs('unknown', all(scene.us.payments.list(window)));
});

test('a payment is asked for by its id, and given back in parts under ids of ours', async () => {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  assert.is(await scene.us.payments.ask('E'.repeat(32)), null);
  const first = await scene.us.payments.giveBack({ endToEndId, id: 'part1' }, 400, 'x'.repeat(200));
  assert.equal([first.id, first.amount, first.status], ['part1', 400, 'EM_PROCESSAMENTO']);
  assert.match(first.returnId ?? '', /^D\w{31}$/);
  await failsAs('refused', scene.us.payments.giveBack({ endToEndId, id: 'part2' }, 601));
  await scene.us.payments.giveBack({ endToEndId, id: 'part2' }, 600);
  const [one, two] = scene.bank.state.payments.get(endToEndId)?.returns ?? [];
  if (one !== undefined) one.status = 'DEVOLVIDO';
  if (two !== undefined) Object.assign(two, { status: 'NAO_REALIZADO', motivo: 'Sem saldo' });
  const payment = await scene.us.payments.ask(endToEndId);
  assert.ok(payment !== null && 'returns' in payment);
  assert.equal(
    payment.returns.map(({ id, status, reason }) => [id, status, reason]),
    [
      ['part1', 'DEVOLVIDO', null],
      ['part2', 'NAO_REALIZADO', 'Sem saldo'],
    ],
  );
  assert.is((await scene.us.payments.askReturn({ endToEndId, id: 'part2' }))?.status, 'NAO_REALIZADO');
  const from = Date.now() - 60_000;
  assert.equal(await all(scene.us.payments.list({ from, to: Date.now() + 1000 }, { withReturns: true })), [
    endToEndId,
  ]);
});

test('an answer about another payment or return is none', async () => {
  const { payments } = scene.us;
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  const other = (body: Fields): Fields => ({ ...body, endToEndId: scene.bank.state.id('E', Date.now()) });
  scene.bank.fault('GET pix', { kind: 'changed', change: other });
  await failsAs('unknown', payments.ask(endToEndId));
  assert.is((await payments.ask(endToEndId))?.endToEndId, endToEndId);
  const ofOthers = (body: Fields): Fields => ({ ...body, id: 'other1' });
  scene.bank.fault('PUT devolucao', { kind: 'changed', change: ofOthers });
  await failsAs('unknown', payments.giveBack({ endToEndId, id: 'own1' }, 400));
  scene.bank.fault('GET devolucao', { kind: 'changed', change: ofOthers });
  await failsAs('unknown', payments.askReturn({ endToEndId, id: 'own1' }));
  assert.is((await payments.askReturn({ endToEndId, id: 'own1' }))?.id, 'own1');
});

test('a return whose answer is lost is found by asking, and one that was lost is not', async () => {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  scene.bank.fault('PUT devolucao', { kind: 'cut-after' });
  await failsAs('unknown', scene.us.payments.giveBack({ endToEndId, id: 'r1' }, 1_000));
  assert.is((await scene.us.payments.askReturn({ endToEndId, id: 'r1' }))?.amount, 1_000);
  scene.bank.fault('PUT devolucao', { kind: 'cut-before' });
  await failsAs('unknown', scene.us.payments.giveBack({ endToEndId, id: 'r2' }, 1_000));
  assert.is(await scene.us.payments.askReturn({ endToEndId, id: 'r2' }), null);
  assert.is(scene.bank.state.payments.get(endToEndId)?.returns.length, 1);
});

test('what can’t be read is said, and nothing is guessed', () => {
  const sound = {
    ...{ endToEndId: 'E'.repeat(32), valor: '1.00', horario: '2026-10-01T00:00:00Z', devolucoes: [] },
  };
  assert.ok('amount' in readPayment(sound));
  for (const broken of [
    { endToEndId: 'E1' },
    { valor: '1.005' },
    { valor: '0.00' },
    { valor: undefined },
    { horario: 'ontem' },
    { devolucoes: [{ id: 'x', valor: 'y', status: 'DEVOLVIDO' }] },
  ]) {
    assert.ok('unread' in readPayment({ ...sound, ...broken }), JSON.stringify(broken));
  }
});

test('a webhook is registered for a key of ours, found, and taken off', async () => {
  const url = 'https://shop.example.com/bank/pix';
  assert.is(await scene.us.hooks.registered(OUR_KEY), null);
  assert.is(await scene.us.hooks.remove(OUR_KEY), false);
  await scene.us.hooks.register(OUR_KEY, url);
  assert.is(await scene.us.hooks.registered(OUR_KEY), url);
  assert.is(await scene.us.hooks.remove(OUR_KEY), true);
  assert.is(await scene.us.hooks.registered(OUR_KEY), null);
  const { concern } = await failsAs('not-done', scene.us.hooks.registered('other@example.com'));
  assert.is(concern, 'scope');
});

test.run();
