/** What tells of a person is masked wherever it stands: in names, in references, in a merchant's own members. */
import * as assert from 'uvu/assert';
import { merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { reaches } from '../support/flows.ts';
import { list, text } from '../support/json.ts';
import { startConsole, type Visitor, visitor } from './visitor.ts';

const CPF = '52998224725';
const EMAIL = 'maria.souza@example.com';
const PHONE = '+5511987654321';

interface Scene {
  account: string;
  id: string;
  eva: Visitor;
  ops: Visitor;
}

const { test, run } = fixtureSuite<Scene>('masking', async (defer) => {
  const server = await startConsole();
  defer(() => server.stop());
  // A sole trader's own name has the CPF in it; some shops refer to a sale by the buyer's address.
  const shop = await merchant(server, ['--name', `MARIA DA SILVA ${CPF}`, '--balance', '100000']);
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
  return { account: shop.accountId, id, eva, ops };
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

test('and what tells of nobody is there', async ({ account, id, eva }) => {
  const [row = null] = list((await eva.get('/transactions')).body, 'rows');
  assert.is(text(row, 'id'), id);
  assert.match(text(row, 'accountName'), /^MARIA DA SILVA /);
  const { text: csv } = await eva.get(`/accounts/${account}/statement/csv`);
  assert.match(csv, id);
});

run();
