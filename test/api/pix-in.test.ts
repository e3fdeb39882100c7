import * as assert from 'uvu/assert';
import { crc16, fieldOf, parseFields } from '../support/br-code.ts';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import {
  endToEndId,
  expectError,
  expectInvalid,
  expectInvalidFields,
  expectStatus,
  timestamp,
  unknownId,
  uuidV4,
} from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, shown, transfer, validCpf } from '../support/flows.ts';
import { at, type Json, type JsonObject, keys, list, object, text, whole } from '../support/json.ts';
import { startServer } from '../support/server.ts';

interface Fee {
  fixed?: number;
  percent?: number;
  min?: number;
  max?: number;
}

const tieFees: Fee = { fixed: 30, percent: 99, min: 45, max: 1_000 };
const steepFees: Fee = { percent: 9_999 };

const { test, run } = fixtureSuite('pix-in', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const [plain, other, keyed, small, steep, dear] = await Promise.all([
    merchant(server, ['--name', 'Café Açaí', '--balance', '100000']),
    merchant(server),
    merchant(server, [
      ...['--pix-key', 'pix@bcb.gov.br', '--merchant-name', 'Padaria São João'],
      ...['--merchant-city', 'São Luís'],
    ]),
    merchant(server, [
      ...['--max-amount', '50000', '--expires-in', '100', '--fees', JSON.stringify({ pixIn: tieFees })],
    ]),
    merchant(server, ['--fees', JSON.stringify({ pixIn: steepFees, cashout: { fixed: 1 } })]),
    merchant(server, ['--fees', JSON.stringify({ pixIn: { fixed: 150 } })]),
  ]);
  return { server, plain, other, keyed, small, steep, dear };
});

const representation = [
  ...['additionalInfo', 'amount', 'chargedbackAmount', 'createdAt', 'currency', 'customer', 'description'],
  ...[
    'expiresAt',
    'externalRef',
    'fee',
    'id',
    'idempotencyKey',
    'metadata',
    'paidAt',
    'paymentMethod',
    'pix',
  ],
  ...['refundableAmount', 'refundedAmount', 'status', 'type', 'updatedAt'],
];

function lifetimeMs(created: Json): number {
  return Date.parse(text(created, 'expiresAt')) - Date.parse(text(created, 'createdAt'));
}

/** The fee as the decisions' formula gives it, in whole numbers of any size. */
function feeOf(amount: number, { fixed = 0, percent = 0, min, max }: Fee): number {
  let fee = BigInt(fixed) + (BigInt(amount) * BigInt(percent) + 5_000n) / 10_000n;
  if (min !== undefined && fee < BigInt(min)) fee = BigInt(min);
  if (max !== undefined && fee > BigInt(max)) fee = BigInt(max);
  return Number(fee > BigInt(amount) ? BigInt(amount) : fee);
}

async function create(client: Merchant, more: JsonObject) {
  return client.post('/pix-in', { amount: 10_000, ...more });
}

async function refuses(client: Merchant, more: JsonObject, ...fields: string[]): Promise<void> {
  expectInvalidFields(await create(client, more), fields);
}

async function takes(client: Merchant, more: JsonObject): Promise<Json> {
  return expectStatus(await create(client, more), 201);
}

test('a charge with the amount alone has every field, and null or a default for the rest', async ({
  plain,
}) => {
  const before = Date.now();
  const created = await charge(plain, 12_345);
  assert.equal(keys(created), representation);
  assert.match(text(created, 'id'), uuidV4);
  const { id, createdAt, updatedAt, expiresAt, pix, ...rest } = object(created);
  assert.equal(rest, {
    type: 'pix-in',
    status: 'waiting_payment',
    amount: 12_345,
    currency: 'BRL',
    paymentMethod: 'PIX',
    externalRef: null,
    description: null,
    additionalInfo: null,
    customer: null,
    metadata: {},
    fee: { totalFee: 123, netAmount: 12_222 },
    ...{ idempotencyKey: null, refundedAmount: 0, chargedbackAmount: 0, refundableAmount: 0 },
    paidAt: null,
  });
  for (const time of [createdAt, updatedAt, expiresAt]) assert.match(text(time ?? null), timestamp);
  assert.ok(Math.abs(Date.parse(text(created, 'createdAt')) - before) < 30_000, 'createdAt is not now');
  assert.equal(keys(pix ?? null), ['endToEndId', 'qrcode']);
  assert.is(at(created, 'pix.endToEndId'), null);
  assert.ok(Math.abs(lifetimeMs(created) - 86_400_000) <= 1_000, 'does not live for a day');
  assert.equal(await shown(plain, 'pix-in', text(id ?? null)), created);
});

test('a charge with every field shows all of them, in POST and GET alike', async ({ plain }) => {
  const given: JsonObject = {
    externalRef: 'pedido nº 1 / ação',
    description: 'Duas camisetas 👕',
    additionalInfo: 'Entrega à tarde',
    customer: {
      name: 'Fulana de Tal',
      document: { type: 'CNPJ', number: '11222333000181' },
      email: 'fulana@example.com',
      phone: '+442071838750',
    },
    metadata: { text: 'a', empty: '', whole: 1, part: -1.5, yes: true, no: false },
  };
  const created = await charge(plain, 10_000, { paymentMethod: 'PIX', expiresIn: 3_600, ...given });
  assert.equal(keys(created), representation);
  for (const [name, value] of Object.entries(given)) assert.equal(at(created, name), value, name);
  assert.ok(Math.abs(lifetimeMs(created) - 3_600_000) <= 1_000);
  assert.equal(await shown(plain, 'pix-in', text(created, 'id')), created);
});

test('an explicit null counts as left out', async ({ plain }) => {
  const created = await takes(plain, {
    ...{ paymentMethod: null, externalRef: null, description: null, additionalInfo: null },
    ...{ customer: null, metadata: null, expiresIn: null },
  });
  for (const name of ['externalRef', 'description', 'additionalInfo', 'customer']) {
    assert.is(at(created, name), null, name);
  }
  assert.equal(at(created, 'metadata'), {});
  assert.is(at(created, 'paymentMethod'), 'PIX');
  assert.ok(Math.abs(lifetimeMs(created) - 86_400_000) <= 1_000);
  await refuses(plain, { amount: null }, 'amount');
});

test('parts of the customer that are not given are null, and a customer of nothing is null', async ({
  plain,
}) => {
  const partial = await takes(plain, { customer: { name: 'Só o nome' } });
  const expected = { name: 'Só o nome', document: null, email: null, phone: null };
  assert.equal(at(partial, 'customer'), expected);
  assert.is(at(await takes(plain, { customer: {} }), 'customer'), null);
  const nothing = { name: null, document: null, email: null, phone: null };
  assert.is(at(await takes(plain, { customer: nothing }), 'customer'), null);
  const documented = await takes(plain, { customer: { document: { type: 'CPF', number: validCpf } } });
  assert.equal(at(documented, 'customer.document'), { type: 'CPF', number: validCpf });
});

test("the demo account's fee is 1 %, half a cent rounded up", async ({ plain }) => {
  for (const [amount, totalFee] of [
    [100, 1],
    [149, 1],
    [150, 2],
    [249, 2],
    [250, 3],
    [99_949, 999],
    [99_950, 1_000],
    [999_999_999_999, 10_000_000_000],
  ] as const) {
    const created = await charge(plain, amount);
    assert.equal(at(created, 'fee'), { totalFee, netAmount: amount - totalFee }, `amount ${amount}`);
  }
});

test('a fee policy: fixed + percent, rounded half up, held between min and max', async ({ small, steep }) => {
  for (const amount of [100, 1_500, 1_515, 1_516, 2_475, 15_050, 49_999, 50_000]) {
    const totalFee = feeOf(amount, tieFees);
    const created = await charge(small, amount);
    assert.equal(at(created, 'fee'), { totalFee, netAmount: amount - totalFee }, `amount ${amount}`);
  }
  assert.is(whole(await charge(small, 100), 'fee.totalFee'), 45);
  // The product of amount and percent is past 2^53 here.
  for (const amount of [999_999_995_001, 999_999_985_001, 999_999_999_999]) {
    const created = await charge(steep, amount);
    assert.is(whole(created, 'fee.totalFee'), feeOf(amount, steepFees), `amount ${amount}`);
  }
});

test('a PIX IN fee reaches the maximum of its policy and never exceeds the amount', async ({
  small,
  dear,
}) => {
  assert.is(feeOf(50_000, tieFees), 525);
  assert.equal(at(await charge(dear, 100), 'fee'), { totalFee: 100, netAmount: 0 });
  assert.equal(at(await charge(dear, 149), 'fee'), { totalFee: 149, netAmount: 0 });
  assert.equal(at(await charge(dear, 151), 'fee'), { totalFee: 150, netAmount: 1 });
  assert.equal(at(await charge(small, 50_000), 'fee'), { totalFee: 525, netAmount: 49_475 });
});

test('a fee above its maximum is held there', async ({ server }) => {
  const fees = { pixIn: { percent: 1_000, max: 200 } };
  const capped = await merchant(server, ['--fees', JSON.stringify(fees)]);
  assert.equal(at(await charge(capped, 2_000), 'fee'), { totalFee: 200, netAmount: 1_800 });
  assert.equal(at(await charge(capped, 2_011), 'fee'), { totalFee: 200, netAmount: 1_811 });
  assert.equal(at(await charge(capped, 1_989), 'fee'), { totalFee: 199, netAmount: 1_790 });
});

test('the checksum of the tests is the right one', () => {
  assert.is(crc16('123456789'), '29B1');
  const sample = '00020126360014br.gov.bcb.pix0114pix@bcb.gov.br520400005303986540510.005802BR5910LOJA TESTE';
  assert.is(crc16(`${sample}6009SAO PAULO62070503T216304`), '004B');
});

function expectCode(created: Json, name: string, city: string): string {
  const code = text(created, 'pix.qrcode');
  assert.match(code, /^[\x20-\x7e]+$/);
  const fields = parseFields(code);
  assert.is([...fields.keys()][0], '00');
  assert.is(fieldOf(fields, '00'), '01');
  assert.ok([undefined, '11'].includes(fields.get('01')), 'not a static code');
  assert.ok(fieldOf(fields, '26').length <= 99);
  const account = parseFields(fieldOf(fields, '26'));
  assert.is(fieldOf(account, '00').toLowerCase(), 'br.gov.bcb.pix');
  assert.is(account.has('25'), false, 'a static code has no URL');
  assert.is(fieldOf(fields, '52'), '0000');
  assert.is(fieldOf(fields, '53'), '986');
  const cents = whole(created, 'amount');
  assert.is(fieldOf(fields, '54'), `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`);
  assert.is(fieldOf(fields, '58'), 'BR');
  assert.is(fieldOf(fields, '59'), name);
  assert.is(fieldOf(fields, '60'), city);
  const txid = text(created, 'id').replaceAll('-', '').slice(0, 25);
  assert.is(fieldOf(parseFields(fieldOf(fields, '62')), '05'), txid);
  assert.is([...fields.keys()].at(-1), '63');
  assert.is(fieldOf(fields, '63'), crc16(code.slice(0, -4)));
  return fieldOf(account, '01');
}

test('the code carries key, name, city, amount and txid of the charge, under a right checksum', async ({
  keyed,
}) => {
  for (const amount of [100, 12_345, 50_099, 999_999_999_999]) {
    const key = expectCode(await charge(keyed, amount), 'Padaria Sao Joao', 'Sao Luis');
    assert.is(key, 'pix@bcb.gov.br');
  }
  const long = { description: 'ç'.repeat(500), additionalInfo: 'ã'.repeat(140) };
  assert.is(expectCode(await charge(keyed, 10_000, long), 'Padaria Sao Joao', 'Sao Luis'), 'pix@bcb.gov.br');
});

test('without a key of its own an account receives at a random EVP, under its name, in SAO PAULO', async ({
  plain,
}) => {
  const key = expectCode(await charge(plain, 10_000), 'Cafe Acai', 'SAO PAULO');
  assert.match(key, uuidV4);
});

test('fifty codes have fifty right checksums', async ({ plain }) => {
  const made = await Promise.all(Array.from({ length: 50 }, (_, n) => charge(plain, 20_011 + 100 * n)));
  for (const created of made) expectCode(created, 'Cafe Acai', 'SAO PAULO');
  assert.is(new Set(made.map((created) => text(created, 'id'))).size, 50);
  assert.is(new Set(made.map((created) => text(created, 'pix.qrcode'))).size, 50);
});

test('expiresIn from 60 to 2,592,000 whole seconds', async ({ plain }) => {
  for (const expiresIn of [60, 2_592_000]) {
    const created = await takes(plain, { expiresIn });
    assert.ok(Math.abs(lifetimeMs(created) - expiresIn * 1_000) <= 1_000, `${expiresIn}`);
  }
  for (const expiresIn of [59, 0, -60, 2_592_001, 60.5, '60', true, [], {}]) {
    await refuses(plain, { expiresIn }, 'expiresIn');
  }
});

test("without expiresIn the account's own setting counts", async ({ small }) => {
  const own = await charge(small, 10_000);
  assert.ok(Math.abs(lifetimeMs(own) - 100_000) <= 1_000);
  const asked = await charge(small, 10_000, { expiresIn: 60 });
  assert.ok(Math.abs(lifetimeMs(asked) - 60_000) <= 1_000);
});

test('amounts are whole numbers from 100 to 999,999,999,999', async ({ plain }) => {
  for (const amount of [
    ...[99, 1, 0, -1, -100, 1_000.5, 100.1, 1_000_000_000_000, 1e15, 1e300],
    ...['1000', '1e3', 'NaN', '', true, false, [], [1_000], {}],
  ]) {
    await refuses(plain, { amount }, 'amount');
  }
  expectInvalidFields(await plain.post('/pix-in', {}), ['amount']);
  assert.is(whole(await charge(plain, 100), 'amount'), 100);
  assert.is(whole(await charge(plain, 999_999_999_999), 'amount'), 999_999_999_999);
});

test('a whole number may be written as 1e3 or 1000.0', async ({ plain }) => {
  for (const written of ['1e3', '1000.0', '10E+2']) {
    const body = `{"amount": ${written}}`;
    const reply = await plain.send('POST', '/pix-in', body, { 'content-type': 'application/json' });
    assert.is(whole(expectStatus(reply, 201), 'amount'), 1_000, written);
  }
});

test("the account's own maximum lowers the amount", async ({ small }) => {
  assert.is(whole(await charge(small, 50_000), 'amount'), 50_000);
  await refuses(small, { amount: 50_001 }, 'amount');
});

test('any paymentMethod but PIX is refused', async ({ plain }) => {
  for (const paymentMethod of ['pix', 'CARD', '', 1, {}]) {
    await refuses(plain, { paymentMethod }, 'paymentMethod');
  }
});

const texts: [string, number][] = [
  ['description', 500],
  ['additionalInfo', 140],
  ['externalRef', 255],
];

for (const [field, longest] of texts) {
  test(`${field} has 1 to ${longest} code points, counted after NFC and shown as given`, async ({
    plain,
  }) => {
    const decomposed = 'e\u0301';
    for (const value of ['x', 'x'.repeat(longest), '👍'.repeat(longest), decomposed.repeat(longest)]) {
      assert.is(text(await takes(plain, { [field]: value }), field), value);
    }
    for (const value of [
      '',
      'x'.repeat(longest + 1),
      '👍'.repeat(longest + 1),
      decomposed.repeat(longest + 1),
    ]) {
      await refuses(plain, { [field]: value }, field);
    }
    for (const value of [1, true, [], {}, ['x']]) await refuses(plain, { [field]: value }, field);
  });

  test(`${field} takes no control characters and no lone surrogates`, async ({ plain }) => {
    for (const value of ['a\u0000b', 'a\nb', 'a\u001bb', 'a\u007fb', 'a\u0085b', 'a\ud800b', '\udc00']) {
      await refuses(plain, { [field]: value }, field);
    }
  });
}

test('metadata holds up to 50 keys of 1 to 40 characters', async ({ plain }) => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
  assert.equal(at(await takes(plain, { metadata: many(50) }), 'metadata'), many(50));
  await refuses(plain, { metadata: many(51) }, 'metadata');
  const longest = 'k'.repeat(40);
  assert.equal(at(await takes(plain, { metadata: { [longest]: 1 } }), 'metadata'), { [longest]: 1 });
  for (const key of ['k'.repeat(41), '', 'a\nb']) {
    const fields = expectInvalid(await create(plain, { metadata: { [key]: 1 } }));
    assert.ok(
      fields.every((field) => field.startsWith('metadata')),
      fields.join(),
    );
  }
});

test('metadata values are strings of up to 500 characters, numbers and booleans', async ({ plain }) => {
  const fitting = { a: '👍'.repeat(500), b: 1e300, c: -0.25, d: false };
  assert.equal(at(await takes(plain, { metadata: fitting }), 'metadata'), fitting);
  for (const value of ['x'.repeat(501), null, {}, [], { a: 1 }, ['a'], 'a\u0000b', '\ud800']) {
    await refuses(plain, { metadata: { fine: 1, wrong: value } }, 'metadata.wrong');
  }
  for (const metadata of [[], ['a'], 'a', 1, true]) await refuses(plain, { metadata }, 'metadata');
});

test('the parts of a customer follow their rules', async ({ plain }) => {
  assert.is(
    text(await takes(plain, { customer: { name: 'é'.repeat(140) } }), 'customer.name'),
    'é'.repeat(140),
  );
  for (const name of ['', 'x'.repeat(141), 1, 'a\tb']) {
    await refuses(plain, { customer: { name } }, 'customer.name');
  }
  for (const email of ['', 'fulana', 'fulana@', '@example.com', 'a b@example.com', 'a@b@c.com', 1]) {
    await refuses(plain, { customer: { email } }, 'customer.email');
  }
  for (const phone of ['', '5511987654321', '11987654321', '+0', '+12', '+55 (11) 98765-4321', '+', 1]) {
    await refuses(plain, { customer: { phone } }, 'customer.phone');
  }
  assert.is(
    text(await takes(plain, { customer: { phone: '+5511987654321' } }), 'customer.phone'),
    '+5511987654321',
  );
  for (const customer of [[], 'Fulana', 1, true]) await refuses(plain, { customer }, 'customer');
});

test("a customer's CPF and CNPJ need right check digits", async ({ plain }) => {
  for (const [type, number] of [
    ['CPF', '12345678900'],
    ['CPF', '11111111111'],
    ['CPF', '00000000000'],
    ['CPF', '1234567890'],
    ['CPF', '123456789099'],
    ['CPF', '11222333000181'],
    ['CNPJ', '11222333000180'],
    ['CNPJ', '00000000000000'],
    ['CNPJ', validCpf],
    ['CPF', 12_345_678_909],
    ['CPF', ''],
    ['RG', validCpf],
    ['cpf', validCpf],
  ] as const) {
    const fields = expectInvalid(await create(plain, { customer: { document: { type, number } } }));
    assert.ok(
      fields.every((field) => field.startsWith('customer.document')),
      `${type} ${number}: ${fields.join()}`,
    );
  }
  const alphanumeric = { type: 'CNPJ', number: '12ABC34501DE35' };
  const created = await takes(plain, { customer: { document: alphanumeric } });
  assert.equal(at(created, 'customer.document'), alphanumeric);
});

test('unknown fields are refused by name, nested ones too', async ({ plain }) => {
  await refuses(plain, { externalref: 'order-1' }, 'externalref');
  await refuses(plain, { callbackUrl: 'x', tags: null }, 'callbackUrl', 'tags');
  await refuses(plain, { customer: { nome: 'x' } }, 'customer.nome');
  await refuses(
    plain,
    { customer: { document: { type: 'CPF', number: validCpf, country: 'BR' } } },
    'customer.document.country',
  );
});

test('all broken fields are in the details, not just the first', async ({ plain }) => {
  const reply = await plain.post('/pix-in', {
    ...{
      amount: 1,
      paymentMethod: 'CARD',
      externalRef: '',
      description: '',
      additionalInfo: '',
      expiresIn: 1,
    },
    ...{ customer: { name: '', email: 'x', phone: 'x' }, metadata: { a: null, b: {} }, unknown: 1 },
  });
  expectInvalidFields(reply, [
    ...['amount', 'paymentMethod', 'externalRef', 'description', 'additionalInfo', 'expiresIn'],
    ...['customer.name', 'customer.email', 'customer.phone', 'metadata.a', 'metadata.b', 'unknown'],
  ]);
});

test('a charge is found by its id and by its externalRef, as given', async ({ plain }) => {
  for (const externalRef of ['order-1', 'a b+c&d=e%20', '日本 👍', '\ufffd', ' spaced ', 'null', unknownId]) {
    const created = await charge(plain, 10_000, { externalRef });
    const query = encodeURIComponent(externalRef);
    const found = expectStatus(await plain.get(`/pix-in?externalRef=${query}`), 200);
    assert.equal(found, created, externalRef);
  }
  await charge(plain, 10_000, { externalRef: 'Caf\u00e9' });
  const decomposed = encodeURIComponent('Cafe\u0301');
  expectError(await plain.get(`/pix-in?externalRef=${decomposed}`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await plain.get('/pix-in?externalRef=ORDER-1'), 404, 'TRANSACTION_NOT_FOUND');
});

test('of several charges with one externalRef the newest is shown', async ({ plain }) => {
  for (let n = 0; n < 5; n += 1) {
    const created = await charge(plain, 10_011 + n, { externalRef: 'repeated' });
    assert.equal(expectStatus(await plain.get('/pix-in?externalRef=repeated'), 200), created);
  }
});

test('a lookup takes exactly one of id and externalRef, once and not empty', async ({ plain }) => {
  const id = text(await charge(plain, 10_000, { externalRef: 'one' }), 'id');
  for (const query of [
    ...['', '?', '?other=1', `?id=${id}&externalRef=one`, `?id=${id}&id=${id}`, '?id=', '?externalRef='],
    ...['?externalRef=%FF', '?externalRef=one%E6%97', '?externalRef=%ED%A0%80'],
    ...['?externalRef=one&externalRef=one', '?externalRef=one&externalRef=two', `?id=${id}&externalRef=`],
  ]) {
    expectError(await plain.get(`/pix-in${query}`), 400, 'INVALID_REQUEST');
  }
});

test('unknown query parameters are ignored', async ({ plain }) => {
  const created = await charge(plain, 10_000);
  const query = `id=${text(created, 'id')}&page=1&page=2&reference=&transactionId=x`;
  assert.equal(expectStatus(await plain.get(`/pix-in?${query}`), 200), created);
});

test('an id that is no UUID v4 is a VALIDATION_ERROR of id', async ({ plain }) => {
  for (const id of [
    ...['abc', '123', '123e4567-e89b-12d3-a456-426614174000', `${unknownId}0`, unknownId.replaceAll('-', '')],
    ...['00000000-0000-4000-c000-000000000000', '..', '%00', `${unknownId}%20`],
  ]) {
    expectInvalidFields(await plain.get(`/pix-in?id=${id}`), ['id']);
  }
});

test("what is not there, a cashout, and another account's charge are 404", async ({ plain, other }) => {
  expectError(await plain.get(`/pix-in?id=${unknownId}`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await plain.get('/pix-in?externalRef=nobody'), 404, 'TRANSACTION_NOT_FOUND');
  const id = text(await charge(plain, 10_000, { externalRef: 'mine alone' }), 'id');
  expectError(await other.get(`/pix-in?id=${id}`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await other.get('/pix-in?externalRef=mine%20alone'), 404, 'TRANSACTION_NOT_FOUND');
  const cashout = await transfer(plain, 1_007, { externalRef: 'a cashout' });
  expectError(await plain.get(`/pix-in?id=${text(cashout, 'id')}`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await plain.get('/pix-in?externalRef=a%20cashout'), 404, 'TRANSACTION_NOT_FOUND');
});

test('a refused request creates nothing and the balance stays', async ({ other }) => {
  await refuses(other, { externalRef: 'never', amount: 1 }, 'amount');
  await refuses(other, { externalRef: 'never', unknown: 1 }, 'unknown');
  expectError(await other.get('/pix-in?externalRef=never'), 404, 'TRANSACTION_NOT_FOUND');
  assert.is(await other.balance(), 0);
});

test('once paid, a charge shows who paid, when and under which end-to-end id', async ({ other }) => {
  const customer = { name: 'Dada na criação', email: 'dada@example.com' };
  const created = await charge(other, 10_000, { customer });
  const payer = { name: 'Quem Pagou', document: { type: 'CPF', number: validCpf } };
  const id = text(created, 'id');
  const paid = expectStatus(await other.post(`/sandbox/pix-in/${id}/pay`, { payer }), 200);
  const after = await shown(other, 'pix-in', id);
  assert.equal(keys(after), representation);
  assert.equal(keys(paid), [...representation, 'applied'].sort());
  assert.is(text(after, 'status'), 'paid');
  assert.match(text(after, 'paidAt'), timestamp);
  assert.match(text(after, 'pix.endToEndId'), endToEndId);
  assert.equal(at(after, 'customer'), { ...payer, email: 'dada@example.com', phone: null });
  assert.ok(text(after, 'updatedAt') >= text(created, 'updatedAt'));
  for (const name of ['id', 'createdAt', 'expiresAt', 'fee', 'amount', 'metadata']) {
    assert.equal(at(after, name), at(created, name), name);
  }
  assert.is(text(after, 'pix.qrcode'), text(created, 'pix.qrcode'));
  assert.is(await other.balance(), 9_900);
});

test('GET /balance has balance and currency', async ({ server }) => {
  const fresh = await merchant(server);
  assert.equal(expectStatus(await fresh.get('/balance'), 200), { balance: 0, currency: 'BRL' });
});

test('the books are right in the end', async ({ server }) => {
  const verified = await cliJson(server, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true);
  assert.is(list(verified, 'differences').length, 0);
});

run();
