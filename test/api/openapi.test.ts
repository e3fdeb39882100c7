/** What /openapi.json says is so: checked as JSON Schema, against answers and requests of a real server. */
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { fetchReply, merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { isObject, type Json, object, text } from '../support/json.ts';
import { startServer } from '../support/server.ts';

const { test, run } = fixtureSuite('api/openapi', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const client = await merchant(server, ['--balance', '1000000']);
  const document = expectStatus(await fetchReply('GET', `${server.root}/openapi.json`), 200);
  const schemas = object(object(document, 'components'), 'schemas');
  const definitions = JSON.parse(
    JSON.stringify(schemas).replaceAll('#/components/schemas/', '#/$defs/'),
  ) as Record<string, never>;
  /** What the document has against a value; null where nothing. */
  const against = (name: string, value: Json): string | null => {
    const schema = z.fromJSONSchema({ $ref: `#/$defs/${name}`, $defs: definitions });
    return schema.safeParse(value).error?.message ?? null;
  };
  return { client, document, against };
});

/** Every object in a document. */
function* objectsIn(value: Json): Generator<Record<string, Json>> {
  if (Array.isArray(value)) for (const member of value) yield* objectsIn(member);
  else if (isObject(value)) {
    yield value as Record<string, Json>;
    for (const member of Object.values(value)) yield* objectsIn(member as Json);
  }
}

test('no schema adds members to another one, which has no others', ({ document }) => {
  assert.equal(
    [...objectsIn(document)].filter(({ allOf }) => allOf !== undefined),
    [],
  );
});

test('each endpoint names the 400 of a request whose headers are too large', async ({ client, document }) => {
  const reply = await client.get('/balance', { 'X-Long': 'x'.repeat(17_000) });
  assert.is(text(expectStatus(reply, 400), 'error'), 'INVALID_REQUEST');
  for (const [path, endpoints] of Object.entries(object(document, 'paths')))
    for (const [method, endpoint] of Object.entries(endpoints as Record<string, Json>)) {
      const { description } = object(object(endpoint, 'responses'), '400') as { description: string };
      assert.match(description, 'INVALID_REQUEST', `${method} ${path}`);
    }
});

test("the sandbox's answers are as the document tells", async ({ client, against }) => {
  const pix = { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' };
  const charge = text(expectStatus(await client.post('/pix-in', { amount: 1_000 }), 201), 'id');
  const transfer = text(expectStatus(await client.post('/cashout', { amount: 1_007, pix }), 201), 'id');
  for (const reply of [
    await client.post(`/sandbox/pix-in/${charge}/pay`),
    await client.post(`/sandbox/transactions/${transfer}/messages`, { type: 'START' }),
  ]) {
    assert.is(against('Applied', expectStatus(reply, 200)), null);
  }
});

test('what may be left out may be null, as the document tells', async ({ client, against }) => {
  const created = expectStatus(await client.post('/pix-in', { amount: 1_000 }), 201);
  const id = text(created, 'id');
  const pix = { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' };
  const texts = { idempotencyKey: null, externalRef: null, description: null, metadata: null };
  const customer = { name: null, document: null, email: null, phone: null };
  const charge = { ...texts, paymentMethod: null, additionalInfo: null, expiresIn: null, customer };
  for (const [path, name, body] of [
    ['/pix-in', 'PixInRequest', { amount: 1_000, ...charge }],
    ['/pix-in', 'PixInRequest', { amount: 1_000, customer: null }],
    ['/cashout', 'CashoutRequest', { amount: 1_000, pix, ...texts }],
    [`/sandbox/pix-in/${id}/pay`, 'SandboxPayment', { payer: null, endToEndId: null }],
    [`/sandbox/transactions/${id}/messages`, 'SandboxMessage', { type: 'PROTEST', id: null, data: null }],
    [`/sandbox/transactions/${id}/messages`, 'SandboxMessage', { type: 'DISMISS', id: null, data: null }],
    [`/pix-in/${id}/refunds`, 'RefundRequest', { amount: null, reason: null, idempotencyKey: null }],
  ] satisfies [string, string, Json][]) {
    const reply = await client.post(path, body);
    assert.ok(reply.status === 200 || reply.status === 201, `${path}: ${reply.text}`);
    assert.is(against(name, body), null, name);
  }
});

run();
