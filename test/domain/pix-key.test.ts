import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { detectPixKeyType, normalizePixKey } from '../../src/domain/people/pix-key.ts';
import { PIX_KEY_TYPES, type PixKeyType } from '../../src/domain/people/pix-key-types.ts';
import { holds } from './holds.ts';

const s = suite('pix-key');

const KEYS: [PixKeyType, string, string][] = [
  ['CPF', '52998224725', '52998224725'],
  ['CNPJ', '11222333000181', '11222333000181'],
  ['CNPJ', '12ABC34501DE35', '12ABC34501DE35'],
  ['CNPJ', '12abc34501de35', '12ABC34501DE35'],
  ['EMAIL', 'Pix@BCB.gov.br', 'pix@bcb.gov.br'],
  ['PHONE', '+5511999999999', '+5511999999999'],
  ['EVP', '123E4567-E12B-12D1-A456-426655440000', '123e4567-e12b-12d1-a456-426655440000'],
  ['EVP', '7d9f0335-8dcc-4054-9bf9-0dbd61d36906', '7d9f0335-8dcc-4054-9bf9-0dbd61d36906'],
];

const REFUSED: [PixKeyType, string, RegExp][] = [
  ['CPF', '529.982.247-25', /11 digits/],
  ['CPF', '52998224724', /check digits/],
  ['CPF', '11222333000181', /11 digits/],
  ['CNPJ', '11.222.333/0001-81', /without punctuation/],
  ['CNPJ', '52998224725', /14 digits or letters/],
  ['CNPJ', 'ſ2ABC34501DE35', /14 digits or letters/],
  ['EMAIL', 'pix@bcb.gov.br ', /without spaces/],
  ['EMAIL', 'pi\u212a@bcb.gov.br', /e-mail/],
  ['EMAIL', `${'a'.repeat(60)}@${'b'.repeat(14)}.br`, /at most 77/],
  ['PHONE', '11999999999', /\+55/],
  ['PHONE', '5511999999999', /\+55/],
  ['PHONE', '+55 11 99999-9999', /without punctuation/],
  ['PHONE', '+14155552671', /Brazilian/],
  ['EVP', '123e4567e12b12d1a456426655440000', /hyphens/],
  ['EVP', '{123e4567-e12b-12d1-a456-426655440000}', /UUID/],
  ['EVP', '123e4567-e12b-12d1-a456-42665544000g', /UUID/],
  ...PIX_KEY_TYPES.map((type): [PixKeyType, string, RegExp] => [type, '', /^must be /]),
];

s('keys come out in their one form', () => {
  for (const [type, value, key] of KEYS) assert.equal(normalizePixKey(type, value), { ok: true, key });
});

s('an e-mail key has at most 77 characters', () => {
  const longest = [`${'a'.repeat(60)}@${'b'.repeat(13)}.br`, `${'a'.repeat(65)}@example.com`];
  for (const key of longest) {
    assert.is(key.length, 77);
    assert.equal(normalizePixKey('EMAIL', key), { ok: true, key });
    assert.not(normalizePixKey('EMAIL', `a${key}`).ok);
  }
});

s('other forms are refused with a word on the form expected, without the value', () => {
  for (const [type, value, expected] of REFUSED) {
    const outcome = normalizePixKey(type, value);
    assert.not(outcome.ok, `${type} ${value}`);
    if (outcome.ok) continue;
    assert.match(outcome.message, expected);
    if (value !== '') assert.not(outcome.message.includes(value));
  }
});

s('the type of a key is found', () => {
  for (const [type, value] of KEYS) assert.is(detectPixKeyType(value), type);
  for (const value of ['', '***', '529.982.247-25', '11999999999', '+14155552671', 'loja']) {
    assert.is(detectPixKeyType(value), null, value);
  }
});

s('normalising is idempotent and no key has two types', () => {
  const value = fc.oneof(
    fc.constantFrom(...KEYS.map(([, key]) => key)),
    fc.emailAddress(),
    fc.uuid().map((uuid) => uuid.toUpperCase()),
    fc.integer({ min: 11_900_000_000, max: 11_999_999_999 }).map((digits) => `+55${digits}`),
    fc.string(),
  );
  holds(
    fc.property(value, (any) => {
      const found = PIX_KEY_TYPES.filter((type) => normalizePixKey(type, any).ok);
      assert.ok(found.length <= 1);
      assert.is(detectPixKeyType(any), found[0] ?? null);
      for (const type of found) {
        const once = normalizePixKey(type, any);
        assert.ok(once.ok);
        if (once.ok) assert.equal(normalizePixKey(type, once.key), once);
      }
    }),
  );
});

s.run();
