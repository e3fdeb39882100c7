import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
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
import { askTransfer, charge, reaches, shown, told, transfer, validCpf } from '../support/flows.ts';
import { at, type JsonObject, keys, list, object, text, whole } from '../support/json.ts';
import { startServer } from '../support/server.ts';

const opening = 100_000_000;
/** Pending for good in the sandbox: the bank stays silent. */
const silent = 1_007;
/** Refused by the sandbox's bank at once. */
const unreachable = 1_010;

const { test, run } = fixtureSuite('cashout', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const percentFees = { pixIn: {}, cashout: { fixed: 10, percent: 150, min: 25, max: 300 } };
  const [rich, other, small, poor] = await Promise.all([
    merchant(server, ['--balance', String(opening)]),
    merchant(server, ['--balance', String(opening)]),
    merchant(server, [
      ...['--balance', String(opening), '--max-amount', '50000', '--fees', JSON.stringify(percentFees)],
    ]),
    merchant(server),
  ]);
  return { server, rich, other, small, poor };
});

const representation = [
  ...['amount', 'createdAt', 'currency', 'description', 'externalRef', 'fee', 'id', 'idempotencyKey'],
  ...['metadata', 'paidAt', 'pix', 'reference', 'returnedAmount', 'status', 'type', 'updatedAt'],
];

test('a cashout with the least given has every field, and debits amount plus fee', async ({ rich }) => {
  const before = await rich.balance();
  const created = await transfer(rich, silent);
  assert.equal(keys(created), representation);
  assert.match(text(created, 'id'), uuidV4);
  const { id, createdAt, updatedAt, ...rest } = object(created);
  for (const time of [createdAt, updatedAt]) assert.match(text(time ?? null), timestamp);
  assert.equal(rest, {
    type: 'cashout',
    status: 'pending',
    amount: silent,
    currency: 'BRL',
    reference: null,
    idempotencyKey: null,
    externalRef: null,
    description: null,
    metadata: {},
    pix: { pixKeyType: 'CPF', pixKey: validCpf },
    fee: { totalFee: 50, netAmount: silent - 50 },
    returnedAmount: 0,
    paidAt: null,
  });
  assert.is(await rich.balance(), before - silent - 50);
  assert.equal(await shown(rich, 'cashout', text(id ?? null)), created);
});

test('a cashout with every field shows all of them, in POST and GET alike', async ({ rich }) => {
  const given: JsonObject = {
    idempotencyKey: 'chave nº 1 👍',
    externalRef: 'repasse 7',
    description: 'Repasse de março',
    metadata: { a: 'x', b: 1, c: true },
  };
  const created = await transfer(rich, silent, given);
  assert.equal(keys(created), representation);
  for (const [name, value] of Object.entries(given)) assert.equal(at(created, name), value, name);
  assert.equal(await shown(rich, 'cashout', text(created, 'id')), created);
});

test('an explicit null counts as left out', async ({ rich }) => {
  const nulls = { idempotencyKey: null, externalRef: null, description: null, metadata: null };
  const [first, second] = [await transfer(rich, silent, nulls), await transfer(rich, silent, nulls)];
  assert.is(at(first, 'idempotencyKey'), null);
  assert.equal(at(first, 'metadata'), {});
  assert.is.not(text(first, 'id'), text(second, 'id'));
});

test('one cent can be sent, and netAmount is amount - totalFee even then', async ({ rich }) => {
  const created = await transfer(rich, 1);
  assert.equal(at(created, 'fee'), { totalFee: 50, netAmount: -49 });
});

test("the account's own fee policy counts", async ({ small }) => {
  for (const [amount, totalFee] of [
    [107, 25],
    [1_007, 25],
    [1_107, 27],
    [1_207, 28],
    [10_007, 160],
    [19_307, 300],
    [40_007, 300],
  ] as const) {
    const before = await small.balance();
    const created = await transfer(small, amount);
    assert.equal(at(created, 'fee'), { totalFee, netAmount: amount - totalFee }, `amount ${amount}`);
    assert.is(await small.balance(), before - amount - totalFee);
  }
});

test('once sent, a cashout shows reference and paidAt, and the balance stays debited', async ({ rich }) => {
  const created = await transfer(rich, 20_000);
  const id = text(created, 'id');
  const completed = await reaches(rich, 'cashout', id, 'completed');
  assert.equal(keys(completed), representation);
  assert.match(text(completed, 'reference'), endToEndId);
  assert.match(text(completed, 'paidAt'), timestamp);
  for (const name of ['id', 'createdAt', 'amount', 'fee', 'pix', 'metadata']) {
    assert.equal(at(completed, name), at(created, name), name);
  }
});

const exactKeys: [string, string, string][] = [
  ['CPF', validCpf, validCpf],
  ['CPF', '52998224725', '52998224725'],
  ['CNPJ', '11222333000181', '11222333000181'],
  ['CNPJ', '12ABC34501DE35', '12ABC34501DE35'],
  ['CNPJ', '12abc34501de35', '12ABC34501DE35'],
  ['EMAIL', 'fulana@example.com', 'fulana@example.com'],
  ['EMAIL', 'Fulana.De.Tal@Example.COM', 'fulana.de.tal@example.com'],
  ['EMAIL', `${'a'.repeat(64)}@${'b'.repeat(8)}.com`, `${'a'.repeat(64)}@${'b'.repeat(8)}.com`],
  ['PHONE', '+5511987654321', '+5511987654321'],
  ['PHONE', '+551132345678', '+551132345678'],
  ['EVP', '123e4567-e12b-42d1-a456-426655440000', '123e4567-e12b-42d1-a456-426655440000'],
  ['EVP', '123E4567-E12B-42D1-A456-426655440000', '123e4567-e12b-42d1-a456-426655440000'],
];

test('the five kinds of key are taken, and their case is normalised', async ({ rich }) => {
  for (const [pixKeyType, pixKey, normal] of exactKeys) {
    const created = await transfer(rich, silent, { pix: { pixKeyType, pixKey } });
    assert.equal(at(created, 'pix'), { pixKeyType, pixKey: normal });
    assert.equal(await shown(rich, 'cashout', text(created, 'id')), created);
  }
});

const brokenKeys: [string, string[]][] = [
  [
    'CPF',
    ['12345678900', '11111111111', '123.456.789-09', '12345678909 ', '1234567890', '', '11222333000181'],
  ],
  [
    'CNPJ',
    [
      ...['11222333000180', '00000000000000', '11.222.333/0001-81', '12ABC34501DE36', '12ABC34501DEAB'],
      ...['11222333000181 ', '', validCpf],
    ],
  ],
  [
    'EMAIL',
    [
      ...['fulana', 'fulana@', '@example.com', 'a b@example.com', ' a@example.com', 'a@b@example.com', ''],
      `${'a'.repeat(64)}@${'b'.repeat(9)}.com`,
    ],
  ],
  [
    'PHONE',
    [
      ...['11987654321', '5511987654321', '+55 11 98765-4321', '+55(11)987654321', '+442071838750'],
      ...['+5500987654321', '+551', '+55119876543210', ''],
    ],
  ],
  [
    'EVP',
    [
      ...['123e4567e12b42d1a456426655440000', 'not-a-uuid', '{123e4567-e12b-42d1-a456-426655440000}', ''],
      ...['123e4567-e12b-42d1-a456-42665544000g', ' 123e4567-e12b-42d1-a456-426655440000', validCpf],
    ],
  ],
];

test('a malformed key is refused, punctuation and a missing +55 too', async ({ rich }) => {
  const before = await rich.balance();
  for (const [pixKeyType, pixKeys] of brokenKeys) {
    for (const pixKey of pixKeys) {
      const reply = await askTransfer(rich, silent, { pix: { pixKeyType, pixKey } });
      assert.equal(expectInvalid(reply), ['pix.pixKey'], `${pixKeyType} '${pixKey}'`);
    }
  }
  assert.is(await rich.balance(), before);
});

test('the destination must be whole, of a known type, without further fields', async ({ rich }) => {
  const key = { pixKeyType: 'CPF', pixKey: validCpf };
  for (const pixKeyType of ['cpf', 'RANDOM', '', 1, null]) {
    const fields = expectInvalid(await askTransfer(rich, silent, { pix: { ...key, pixKeyType } }));
    assert.ok(fields.includes('pix.pixKeyType'), fields.join());
  }
  for (const pixKey of [12_345_678_909, true, {}, [], null]) {
    expectInvalidFields(await askTransfer(rich, silent, { pix: { ...key, pixKey } }), ['pix.pixKey']);
  }
  for (const pix of [null, {}, [], 'CPF', 1]) {
    const fields = expectInvalid(await askTransfer(rich, silent, { pix }));
    assert.ok(
      fields.every((field) => field.startsWith('pix')),
      fields.join(),
    );
  }
  expectInvalidFields(await askTransfer(rich, silent, { pix: { ...key, name: 'x' } }), ['pix.name']);
});

test('amounts are whole numbers from 1 to 999,999,999,999', async ({ rich, poor }) => {
  for (const amount of [
    ...[0, -1, 0.5, 1_000.5, 1_000_000_000_000, 1e300, '1000', '1e3', 'NaN', true, null, [], {}],
  ]) {
    expectInvalidFields(await askTransfer(rich, silent, { amount }), ['amount']);
  }
  const pix = { pixKeyType: 'CPF', pixKey: validCpf };
  expectInvalidFields(await rich.post('/cashout', { pix }), ['amount']);
  // The largest amount passes the fields' check and is stopped by the balance.
  expectError(await askTransfer(poor, 999_999_999_999), 400, 'INSUFFICIENT_BALANCE');
});

test("the account's own maximum lowers the amount", async ({ small }) => {
  expectInvalidFields(await askTransfer(small, 50_007), ['amount']);
  assert.is(whole(await transfer(small, 50_000), 'amount'), 50_000);
});

test('texts and metadata follow their rules', async ({ rich }) => {
  const refused: [JsonObject, string[]][] = [
    [{ description: '' }, ['description']],
    [{ description: 'x'.repeat(141) }, ['description']],
    [{ description: 'a\nb' }, ['description']],
    [{ externalRef: '' }, ['externalRef']],
    [{ externalRef: 'x'.repeat(256) }, ['externalRef']],
    [{ metadata: { a: null } }, ['metadata.a']],
    [{ metadata: { a: { b: 1 } } }, ['metadata.a']],
    [{ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])) }, ['metadata']],
    [{ idempotencyKey: '' }, ['idempotencyKey']],
    [{ idempotencyKey: 'x'.repeat(256) }, ['idempotencyKey']],
    [{ idempotencyKey: 'a\u0007b' }, ['idempotencyKey']],
    [{ idempotencyKey: 'a\ud800' }, ['idempotencyKey']],
    [{ idempotencyKey: 7 }, ['idempotencyKey']],
    [{ idempotencykey: 'typed wrong' }, ['idempotencykey']],
    [{ additionalInfo: 'not of a cashout' }, ['additionalInfo']],
    [{ customer: { name: 'x' } }, ['customer']],
    [
      { amount: 0, description: '', externalRef: '', unknown: 1 },
      ['amount', 'description', 'externalRef', 'unknown'],
    ],
  ];
  for (const [more, fields] of refused) expectInvalidFields(await askTransfer(rich, silent, more), fields);
  const longest = {
    description: '👍'.repeat(140),
    externalRef: 'é'.repeat(255),
    idempotencyKey: 'k'.repeat(255),
  };
  const created = await transfer(rich, silent, longest);
  for (const [name, value] of Object.entries(longest)) assert.is(text(created, name), value);
});

test('a key that exists is 409 with the transaction it belongs to, and nothing new', async ({
  rich,
  other,
}) => {
  const id = text(await transfer(rich, silent, { idempotencyKey: 'once' }), 'id');
  const before = await rich.balance();
  for (const amount of [silent, 20_007, unreachable]) {
    const body = expectError(
      await askTransfer(rich, amount, { idempotencyKey: 'once' }),
      409,
      'DUPLICATE_REQUEST',
    );
    assert.equal(keys(body), ['error', 'message', 'transactionId']);
    assert.is(text(body, 'transactionId'), id);
  }
  assert.is(await rich.balance(), before);
  // The scope is the account, and keys are compared as given.
  assert.is.not(text(await transfer(other, silent, { idempotencyKey: 'once' }), 'id'), id);
  assert.is.not(text(await transfer(rich, silent, { idempotencyKey: 'Once' }), 'id'), id);
});

test('broken fields come before the key', async ({ rich }) => {
  await transfer(rich, silent, { idempotencyKey: 'fields first' });
  const again = await askTransfer(rich, 0, { idempotencyKey: 'fields first' });
  expectInvalidFields(again, ['amount']);
});

test('a key belongs to its transaction for ever, however that ended', async ({ rich }) => {
  const id = text(await transfer(rich, 1_002, { idempotencyKey: 'rejected' }), 'id');
  await reaches(rich, 'cashout', id, 'rejected');
  const body = expectError(
    await askTransfer(rich, silent, { idempotencyKey: 'rejected' }),
    409,
    'DUPLICATE_REQUEST',
  );
  assert.is(text(body, 'transactionId'), id);
});

test('a retry after the money went down still gets its 409', async ({ server }) => {
  const client = await merchant(server, ['--balance', String(silent + 50)]);
  const id = text(await transfer(client, silent, { idempotencyKey: 'all of it' }), 'id');
  assert.is(await client.balance(), 0);
  const body = expectError(
    await askTransfer(client, silent, { idempotencyKey: 'all of it' }),
    409,
    'DUPLICATE_REQUEST',
  );
  assert.is(text(body, 'transactionId'), id);
  expectError(await askTransfer(client, silent, { idempotencyKey: 'another' }), 400, 'INSUFFICIENT_BALANCE');
});

test('the key of a request that ended in 400 or 502 stays free', async ({ server, rich }) => {
  const client = await merchant(server);
  const idempotencyKey = 'free';
  expectInvalidFields(await askTransfer(client, 0, { idempotencyKey }), ['amount']);
  expectError(await askTransfer(client, silent, { idempotencyKey }), 400, 'INSUFFICIENT_BALANCE');
  const paid = await charge(client, 10_000);
  await told(client, text(paid, 'id'), 'PAY');
  assert.is(text(await transfer(client, silent, { idempotencyKey }), 'idempotencyKey'), idempotencyKey);

  expectError(await askTransfer(rich, unreachable, { idempotencyKey }), 502, 'PROCESSING_ERROR');
  assert.is(text(await transfer(rich, silent, { idempotencyKey }), 'status'), 'pending');
});

test('200 racers with one key: one 201, the others 409 with its id, one debit', async ({ other }) => {
  const before = await other.balance();
  const racers = Array.from({ length: 200 }, () => askTransfer(other, silent, { idempotencyKey: 'raced' }));
  const replies = await Promise.all(racers);
  const winners = replies.filter((reply) => reply.status === 201);
  assert.is(winners.length, 1);
  const id = text(winners[0]?.body ?? null, 'id');
  for (const reply of replies) {
    if (reply.status === 201) continue;
    assert.is(text(expectError(reply, 409, 'DUPLICATE_REQUEST'), 'transactionId'), id);
  }
  assert.is(await other.balance(), before - silent - 50);
});

test('racing cashouts never take the balance below zero', async ({ server }) => {
  const each = silent + 50;
  const client = await merchant(server, ['--balance', String(10 * each + each - 1)]);
  const balances: number[] = [];
  const racers = Array.from({ length: 60 }, async (_, n) => {
    if (n % 6 === 0) balances.push(await client.balance());
    return askTransfer(client, silent);
  });
  const replies = await Promise.all(racers);
  assert.is(replies.filter((reply) => reply.status === 201).length, 10);
  for (const reply of replies) {
    if (reply.status !== 201) expectError(reply, 400, 'INSUFFICIENT_BALANCE');
  }
  assert.ok(
    balances.every((balance) => balance >= 0),
    balances.join(),
  );
  assert.is(await client.balance(), each - 1);
});

test('the balance must hold amount plus fee', async ({ server }) => {
  const short = await merchant(server, ['--balance', String(silent + 49)]);
  expectError(await askTransfer(short, silent), 400, 'INSUFFICIENT_BALANCE');
  assert.is(await short.balance(), silent + 49);
  assert.equal(keys((await askTransfer(short, silent)).body), ['error', 'message']);
});

test('order of checks: fields, key, balance, bank', async ({ rich, poor }) => {
  expectInvalidFields(await askTransfer(rich, unreachable, { unknown: 1 }), ['unknown']);
  expectInvalidFields(await askTransfer(poor, silent, { unknown: 1 }), ['unknown']);
  expectError(await askTransfer(poor, unreachable), 400, 'INSUFFICIENT_BALANCE');
  const before = await rich.balance();
  expectError(await askTransfer(rich, unreachable, { externalRef: 'not made' }), 502, 'PROCESSING_ERROR');
  assert.is(await rich.balance(), before);
});

test('a cashout is found by its id and by its reference', async ({ rich, other }) => {
  // The sandbox starts this one and tells no more.
  const id = text(await transfer(rich, 1_006), 'id');
  const processing = await reaches(rich, 'cashout', id, 'processing');
  const reference = text(processing, 'reference');
  assert.match(reference, endToEndId);
  assert.is(at(processing, 'paidAt'), null);
  const found = expectStatus(await rich.get(`/cashout?reference=${reference}`), 200);
  assert.equal(found, processing);
  expectError(await other.get(`/cashout?reference=${reference}`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await other.get(`/cashout?id=${id}`), 404, 'TRANSACTION_NOT_FOUND');
});

test('a lookup takes exactly one of id and reference, once and not empty', async ({ rich }) => {
  const id = text(await transfer(rich, silent, { externalRef: 'looked up' }), 'id');
  const reference = 'E12345678202601021530abcdefghijk';
  for (const query of [
    ...['', '?externalRef=looked%20up', `?id=${id}&reference=${reference}`, `?id=${id}&id=${id}`, '?id='],
    ...['?reference=', `?reference=${reference}&reference=${reference}`, `?id=&reference=${reference}`],
  ]) {
    expectError(await rich.get(`/cashout${query}`), 400, 'INVALID_REQUEST');
  }
  expectInvalidFields(await rich.get('/cashout?id=abc'), ['id']);
  expectError(await rich.get(`/cashout?id=${unknownId}`), 404, 'TRANSACTION_NOT_FOUND');
  expectError(await rich.get(`/cashout?reference=${reference}`), 404, 'TRANSACTION_NOT_FOUND');
  expectStatus(await rich.get(`/cashout?id=${id}&externalRef=ignored&externalRef=twice`), 200);
});

test('a charge is no cashout', async ({ rich }) => {
  const created = await charge(rich, 10_000);
  const paid = await told(rich, text(created, 'id'), 'PAY');
  expectError(await rich.get(`/cashout?id=${text(paid, 'id')}`), 404, 'TRANSACTION_NOT_FOUND');
  const reference = text(paid, 'pix.endToEndId');
  expectError(await rich.get(`/cashout?reference=${reference}`), 404, 'TRANSACTION_NOT_FOUND');
});

test('the books are right in the end', async ({ server }) => {
  const verified = await cliJson(server, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true);
  assert.is(list(verified, 'differences').length, 0);
});

run();
