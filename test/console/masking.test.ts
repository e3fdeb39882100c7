/** What tells of a person is masked wherever it stands: in names, in references, in a merchant's own members. */
import * as assert from 'uvu/assert';
import { mask } from '../../src/console/server/masking.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { reaches } from '../support/flows.ts';
import { list, text } from '../support/json.ts';
import { until } from '../support/wait.ts';
import { startConsole, type Visitor, visitor } from './visitor.ts';

const CPF = '52998224725';
const EMAIL = 'maria.souza@example.com';
const PHONE = '+5511987654321';

/** What merchants refer to a charge, a refund and a transfer by; none is a payer's of theirs. */
const REFERENCES = [
  '11144477735',
  '11444777000161',
  '153.509.460-56',
  '11222333000181',
  '86288366757',
] as const;

interface Scene {
  shop: Merchant;
  account: string;
  id: string;
  eva: Visitor;
  ops: Visitor;
}

const { test, run } = fixtureSuite<Scene>('masking', async (defer) => {
  const server = await startConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } });
  defer(() => server.stop());
  // A sole trader's own name has the CPF in it; some shops refer to a sale by the buyer's address.
  const url = ['--webhook-url', 'http://127.0.0.1:9/nobody'];
  const shop = await merchant(server, ['--name', `MARIA DA SILVA ${CPF}`, '--balance', '100000', ...url]);
  const document = { type: 'CPF', number: CPF };
  const created = await shop.post('/pix-in', {
    ...{ amount: 5_000, externalRef: EMAIL, description: `for ${EMAIL}` },
    customer: { name: 'Maria', email: EMAIL, phone: PHONE, document },
    metadata: { [EMAIL]: 'yes', [PHONE]: true, of: EMAIL },
  });
  const id = text(expectStatus(created, 201), 'id');
  expectStatus(await shop.post(`/sandbox/pix-in/${id}/pay`, {}), 200);
  await reaches(shop, 'pix-in', id, 'paid');
  const [eva, ops] = [await visitor(server), await visitor(server, ['--role', 'operator'])];
  return { shop, account: shop.accountId, id, eva, ops };
});

test('in lists, in what is found, in a statement and on a page of its own', async ({
  account,
  id,
  eva,
  ops,
}) => {
  const paths = [
    ...['/accounts', `/accounts/${account}`, `/find?q=${account}`, `/find?q=${id}`],
    ...[`/find?q=${encodeURIComponent(EMAIL)}`, '/transactions', `/transactions/${id}`],
    ...[`/accounts/${account}/statement`, `/accounts/${account}/statement/csv`],
  ];
  for (const who of [eva, ops])
    for (const path of paths) {
      const { status, text: bytes } = await who.get(path);
      assert.is(status, 200, path);
      for (const secret of [CPF, EMAIL, PHONE]) assert.not.ok(bytes.includes(secret), `${secret} in ${path}`);
    }
});

test('where URLs are told of', async ({ account, eva }) => {
  const rows = await until(async () => {
    const { body } = await eva.get('/urls');
    return list(body, 'urls').length > 0 && list(body, 'urls');
  }, 10_000);
  assert.is(text(rows[0] ?? null, 'account'), account);
  assert.match(text(rows[0] ?? null, 'accountName'), /^MARIA DA SILVA /);
  assert.not.match(JSON.stringify(rows), CPF);
});

test('in what a bank said of a transaction that isn’t there, cut off or not', () => {
  const payer = { name: 'Maria', email: EMAIL, phone: PHONE, chave: 'loja@example.com' };
  for (const end of [undefined, -20]) {
    const content = JSON.stringify({ amount: 1, payer }).slice(0, end);
    const item = { what: `PAY of unknown: ${content}`, data: { content, messageId: 'm-1' } };
    const shown = JSON.stringify(mask(item));
    for (const secret of [EMAIL, PHONE, 'loja@example.com'].slice(0, end === undefined ? 3 : 2))
      assert.not.match(shown, secret);
    assert.match(shown, 'm-1');
  }
});

test('documents in free texts, whatever stands beside them', () => {
  const found = ['12ABC34501DE35', '12.ABC.345/01DE-35', '52998224725', '529.982.247-25', '11444777000161'];
  for (const document of found)
    for (const around of [`Cliente ${document}`, `(${document})`, `${document}, pago`]) {
      assert.not.match(mask({ description: around }).description, document);
    }
  for (const joined of ['CPF52998224725', 'cpf:52998224725x', 'CNPJ11444777000161'])
    assert.not.match(mask({ description: joined }).description, /\d{5}/);
  // The check digits aren't theirs, or it is a part of something longer.
  for (const other of ['52998224726', '5299822472512', 'E5299822472520261130', '12ABC34501DE36'])
    assert.is(mask({ description: other }).description, other);
});

test('and what tells of nobody is there', async ({ account, id, eva }) => {
  const [row = null] = list((await eva.get('/transactions')).body, 'rows');
  assert.is(text(row, 'id'), id);
  assert.match(text(row, 'accountName'), /^MARIA DA SILVA /);
  const { text: csv } = await eva.get(`/accounts/${account}/statement/csv`);
  assert.match(csv, id);
});

test('in what merchants refer to a sale by, which is found by it all the same', async ({
  shop,
  eva,
  ops,
}) => {
  const [reference, key, ofRefund, ofTransfer, keyOfTransfer] = REFERENCES;
  const sale = { amount: 6_000, externalRef: reference, idempotencyKey: key };
  const made = await shop.post('/pix-in', sale);
  const id = text(expectStatus(made, 201), 'id');
  expectStatus(await shop.post(`/sandbox/pix-in/${id}/pay`, {}), 200);
  await reaches(shop, 'pix-in', id, 'paid');
  const order = { amount: 1_000, idempotencyKey: ofRefund };
  expectStatus(await shop.post(`/pix-in/${id}/refunds`, order), 201);
  const pix = { pixKeyType: 'EMAIL', pixKey: 'loja@example.com' };
  const transfer = { amount: 1_000, pix, externalRef: ofTransfer, idempotencyKey: keyOfTransfer };
  const sent = text(expectStatus(await shop.post('/cashout', transfer), 201), 'id');
  const own = `/accounts/${shop.accountId}`;
  const deliveries = list((await ops.get(`/transactions/${id}`)).body, 'deliveries');
  const events = deliveries.map((delivery) => text(delivery, 'eventId'));
  assert.ok(events.length > 0);
  const ofOne = [
    ...[`/transactions/${id}`, `/transactions/${sent}`],
    ...events.map((event) => `/transactions/${id}/payload/${event}`),
  ];
  const first = (await eva.get('/transactions?limit=1')).body;
  const next = `/transactions?limit=1&after=${encodeURIComponent(text(first, 'after'))}`;
  const paths = [
    ...[...ofOne, '/transactions', next, '/journal', `${own}/statement`, `${own}/statement/csv`],
    ...REFERENCES.map((each) => `/find?q=${encodeURIComponent(each)}`),
  ];
  for (const who of [eva, ops])
    for (const path of paths) {
      const { status, text: bytes } = await who.get(path);
      assert.is(status, 200, path);
      for (const each of REFERENCES) assert.not.ok(bytes.includes(each), `${each} in ${path}`);
    }
  for (const each of [reference, key, ofRefund, keyOfTransfer]) {
    const hits = list((await eva.get(`/find?q=${encodeURIComponent(each)}`)).body, 'hits');
    const found = each === keyOfTransfer ? sent : id;
    assert.equal(
      hits.map((hit) => text(hit, 'id')),
      [found],
      each,
    );
  }
  const [charge, transferred, payload] = await Promise.all(
    ofOne.slice(0, 3).map(async (path) => (await ops.get(`${path}?reveal=1`)).text),
  );
  for (const each of [reference, key, ofRefund]) assert.match(charge ?? '', each);
  for (const each of [ofTransfer, keyOfTransfer]) assert.match(transferred ?? '', each);
  assert.match(payload ?? '', reference);
});

run();
