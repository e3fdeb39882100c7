import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  composeBrCode,
  composeDynamicBrCode,
  crc16,
  foldText,
  parseBrCode,
} from '../../src/domain/br-code.ts';
import { MAX_AMOUNT } from '../../src/domain/money.ts';
import { holds } from './holds.ts';

const s = suite('br-code');

/** Golden codes: 1 to 3 from the central bank's manual, 4 and 5 from pix-utils, the rest computed apart. */
const EVP_STATIC =
  '00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D';
const MANUAL_DYNAMIC =
  '00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630464E4';
const MANUAL_MIXED =
  '00020104141234567890123426580014BR.GOV.BCB.PIX0136123e4567-e12b-12d1-a456-42665544000027300012BR.COM.OUTRO011001234567895204000053039865406123.455802BR5917NOME DO RECEBEDOR6008BRASILIA61087007490062190515RP12345678-201980390012BR.COM.OUTRO01190123.ABCD.3456.WXYZ6304AD38';
const LEADING_ZERO_CRC =
  '00020126510014br.gov.bcb.pix0115thalesog@me.com0210Pedido 123520400005303986540510.005802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***63040DC6';
const PSP_DYNAMIC =
  '00020101021226740014br.gov.bcb.pix2552payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e875204000053039865802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***63042895';
const PHONE_STATIC =
  '00020126360014br.gov.bcb.pix0114+5511999999999520400005303986540510.005802BR5910LOJA TESTE6009SAO PAULO62070503***63044E07';
const EMAIL_STATIC =
  '00020126500014br.gov.bcb.pix0114pix@bcb.gov.br0210Pedido 12352040000530398654071234.565802BR5910LOJA TESTE6009SAO PAULO62130509PEDIDO12363047579';
const CNPJ_STATIC =
  '00020126360014br.gov.bcb.pix011412ABC34501DE3552040000530398654040.015802BR5910LOJA TESTE6009SAO PAULO62160512ALFANUMCNPJ16304F918';
const CPF_STATIC =
  '00020126330014br.gov.bcb.pix011112345678909520400005303986540599.905802BR5910LOJA TESTE6009SAO PAULO62290525TX0000000000000000000000A630463F1';
const SHORT_TXID =
  '00020126360014br.gov.bcb.pix0114pix@bcb.gov.br520400005303986540510.005802BR5910LOJA TESTE6009SAO PAULO62070503T216304004B';

const GOLDEN = [
  EVP_STATIC,
  MANUAL_DYNAMIC,
  MANUAL_MIXED,
  LEADING_ZERO_CRC,
  PSP_DYNAMIC,
  PHONE_STATIC,
  EMAIL_STATIC,
  CNPJ_STATIC,
  CPF_STATIC,
  SHORT_TXID,
];

const SHOP = { merchantName: 'LOJA TESTE', merchantCity: 'SAO PAULO' };

/** CRC-16/CCITT-FALSE a bit at a time, straight from its definition. */
function bitwiseCrc(text: string): string {
  let register = 0xffff;
  for (const byte of new TextEncoder().encode(text)) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      const out = (register >> 15) & 1;
      register = (register << 1) & 0xffff;
      if ((out ^ ((byte >> bit) & 1)) === 1) register ^= 0x1021;
    }
  }
  return register.toString(16).toUpperCase().padStart(4, '0');
}

/** Seals a body with a right CRC, to reach what the parser looks at behind it. */
function sealed(body: string): string {
  return `${body}6304${crc16(`${body}6304`)}`;
}

s('the CRC has its check value', () => {
  assert.is(crc16('123456789'), '29B1');
  assert.is(crc16(''), 'FFFF');
});

s('the CRC of every golden code comes out of the rest', () => {
  for (const code of GOLDEN) assert.is(crc16(code.slice(0, -4)), code.slice(-4));
});

s('the CRC is what a bitwise one says', () => {
  holds(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      assert.is(crc16(text), bitwiseCrc(text));
    }),
  );
});

s('golden static codes come out to the letter', () => {
  const evp = '123e4567-e12b-12d1-a456-426655440000';
  const manual = { merchantName: 'Fulano de Tal', merchantCity: 'BRASILIA' };
  assert.is(composeBrCode({ key: evp, amount: null, ...manual, txid: null }), EVP_STATIC);
  assert.is(
    composeBrCode({
      key: 'thalesog@me.com',
      amount: 1_000,
      merchantName: 'THALES OGLIARI',
      merchantCity: 'SAO MIGUEL DO OESTE',
      txid: null,
      description: 'Pedido 123',
    }),
    LEADING_ZERO_CRC,
  );
  assert.is(composeBrCode({ key: '+5511999999999', amount: 1_000, ...SHOP, txid: null }), PHONE_STATIC);
  assert.is(
    composeBrCode({
      key: 'pix@bcb.gov.br',
      amount: 123_456,
      ...SHOP,
      txid: 'PEDIDO123',
      description: 'Pedido 123',
    }),
    EMAIL_STATIC,
  );
  assert.is(composeBrCode({ key: '12ABC34501DE35', amount: 1, ...SHOP, txid: 'ALFANUMCNPJ1' }), CNPJ_STATIC);
  const longTxid = 'TX0000000000000000000000A';
  assert.is(composeBrCode({ key: '12345678909', amount: 9_990, ...SHOP, txid: longTxid }), CPF_STATIC);
  assert.is(composeBrCode({ key: 'pix@bcb.gov.br', amount: 1_000, ...SHOP, txid: 'T21' }), SHORT_TXID);
});

s('golden dynamic codes come out to the letter, with or without a scheme', () => {
  const manual = { merchantName: 'Fulano de Tal', merchantCity: 'BRASILIA' };
  const url = 'pix.example.com/8b3da2f39a4140d1a91abd93113bd441';
  assert.is(composeDynamicBrCode({ url, ...manual }), MANUAL_DYNAMIC);
  assert.is(composeDynamicBrCode({ url: `https://${url}`, ...manual }), MANUAL_DYNAMIC);
  assert.is(
    composeDynamicBrCode({
      url: 'payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e87',
      merchantName: 'THALES OGLIARI',
      merchantCity: 'SAO MIGUEL DO O',
    }),
    PSP_DYNAMIC,
  );
});

s('golden codes come apart', () => {
  for (const code of GOLDEN) assert.is(parseBrCode(code).fields.get('63'), code.slice(-4));
  const mixed = parseBrCode(MANUAL_MIXED);
  assert.is(mixed.key, '123e4567-e12b-12d1-a456-426655440000');
  assert.is(mixed.amount, 12_345);
  assert.is(mixed.merchantName, 'NOME DO RECEBEDOR');
  assert.is(mixed.txid, 'RP12345678-2019');
  const dynamic = parseBrCode(PSP_DYNAMIC);
  assert.is(dynamic.url, 'payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e87');
  assert.is(dynamic.key, null);
  assert.is(dynamic.fields.get('01'), '12');
  assert.is(dynamic.txid, null);
  assert.is(parseBrCode(EMAIL_STATIC).description, 'Pedido 123');
});

s('texts are folded before they are counted', () => {
  assert.is(foldText('São João', 25), 'Sao Joao');
  assert.is(foldText('ÁÉÍÓÚÂÊÔÃÕÇÀÜÑ áéíóúâêôãõçàüñ', 40), 'AEIOUAEOAOCAUN aeiouaeoaocaun');
  assert.is(foldText('Sa\u0303o Paulo', 15), 'Sao Paulo');
  assert.is(foldText('ÇÃÉÕÚÇÃÉÕÚÇÃÉÕÚ', 15), 'CAEOUCAEOUCAEOU');
  assert.is(foldText('Straße Ærø Łódź', 25), 'Strasse AEro Lodz');
  assert.is(foldText('1ª “loja” – nº 2…', 25), '1a "loja" - no 2...');
  assert.is(foldText('a\tb\nc\u00a0d', 25), 'a b c d');
});

s('what has no plain form is dropped', () => {
  assert.is(foldText('Café 😀 日本 Bar', 25), 'Cafe Bar');
  assert.is(foldText('日本', 25), '');
  assert.is(foldText('\u0000\u007f\u0085\ud800a', 25), 'a');
});

s('folding cuts to the room and trims', () => {
  assert.is(foldText('  LOJA  ', 25), 'LOJA');
  assert.is(foldText('SAO MIGUEL DO OESTE', 14), 'SAO MIGUEL DO');
  assert.is(foldText('abc', 0), '');
  assert.is(foldText('abc', -4), '');
});

s('folding any text gives printable ASCII in its bounds, and again the same', () => {
  holds(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(99), (text, max) => {
      const folded = foldText(text, max);
      assert.ok(folded.length <= max);
      assert.match(folded, /^[\x20-\x7e]*$/);
      assert.is(folded, folded.trim());
      assert.is(foldText(folded, max), folded);
    }),
  );
});

s('a merchant without a letter of ASCII still gets a valid code', () => {
  const code = composeBrCode({
    key: '12345678909',
    amount: 1,
    merchantName: '日本',
    merchantCity: '',
    txid: null,
  });
  const parsed = parseBrCode(code);
  assert.is(parsed.merchantName, 'RECEBEDOR');
  assert.is(parsed.merchantCity, 'BRASIL');
});

s('the description takes the room that the key leaves in 26', () => {
  const description = 'x'.repeat(140);
  const compose = (key: string) =>
    parseBrCode(composeBrCode({ key, amount: 1, ...SHOP, txid: null, description }));
  const short = compose('12345678909');
  assert.is(short.fields.get('26')?.length, 99);
  assert.is(short.description, 'x'.repeat(99 - 18 - 15 - 4));
  const tight = compose('k'.repeat(72));
  assert.is(tight.fields.get('26')?.length, 99);
  assert.is(tight.description, 'x');
  for (const length of [73, 76, 77]) assert.is(compose('k'.repeat(length)).description, null);
});

s('amounts have two decimals and at most 13 characters', () => {
  const amount = (cents: number) =>
    parseBrCode(composeBrCode({ key: '12345678909', amount: cents, ...SHOP, txid: null })).fields.get('54');
  assert.is(amount(1), '0.01');
  assert.is(amount(10), '0.10');
  assert.is(amount(100), '1.00');
  assert.is(amount(MAX_AMOUNT), '9999999999.99');
  assert.is(amount(MAX_AMOUNT)?.length, 13);
});

s('what a code cannot hold is thrown out', () => {
  const good = { key: '12345678909', amount: 1, ...SHOP, txid: null };
  for (const amount of [0, -1, 1.5, Number.NaN, MAX_AMOUNT + 1]) {
    assert.throws(() => composeBrCode({ ...good, amount }), /whole cents/);
  }
  for (const key of ['', 'k'.repeat(78), 'a b', 'é'])
    assert.throws(() => composeBrCode({ ...good, key }), /key/);
  for (const txid of ['', '***', 'a-b', 'T'.repeat(26)]) {
    assert.throws(() => composeBrCode({ ...good, txid }), /txid/);
  }
  for (const url of ['', 'https://', 'u'.repeat(78)]) {
    assert.throws(() => composeDynamicBrCode({ url, ...SHOP }), /URL/);
  }
  const longest = parseBrCode(composeDynamicBrCode({ url: 'u'.repeat(77), ...SHOP }));
  assert.is(longest.fields.get('26')?.length, 99);
});

s('whatever is composed comes apart into the same', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
  const unit = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
  const code = fc.record({
    key: fc.oneof(fc.uuid(), fc.string({ unit, minLength: 1, maxLength: 77 })),
    amount: fc.option(fc.integer({ min: 1, max: MAX_AMOUNT })),
    merchantName: text,
    merchantCity: text,
    txid: fc.option(fc.string({ unit, minLength: 1, maxLength: 25 })),
    description: fc.option(text),
  });
  holds(
    fc.property(code, (any) => {
      const composed = composeBrCode(any);
      const parsed = parseBrCode(composed);
      assert.match(composed, /^[\x20-\x7e]+$/);
      assert.is(parsed.key, any.key);
      assert.is(parsed.amount, any.amount);
      assert.is(parsed.txid, any.txid);
      assert.is(parsed.merchantName, foldText(any.merchantName, 25) || 'RECEBEDOR');
      assert.is(parsed.merchantCity, foldText(any.merchantCity, 15) || 'BRASIL');
      const room = Math.max(0, 99 - 18 - 4 - any.key.length - 4);
      assert.is(parsed.description ?? '', foldText(any.description ?? '', room));
    }),
    { numRuns: 500 },
  );
});

s('one character changed breaks a code', () => {
  const at = fc.nat(EMAIL_STATIC.length - 1);
  holds(
    fc.property(at, fc.integer({ min: 0x20, max: 0x7e }), (position, charCode) => {
      const character = String.fromCharCode(charCode);
      fc.pre(character !== EMAIL_STATIC[position]);
      const changed = EMAIL_STATIC.slice(0, position) + character + EMAIL_STATIC.slice(position + 1);
      assert.throws(() => parseBrCode(changed));
    }),
  );
});

s('the parser says what is wrong', () => {
  const account = '26330014br.gov.bcb.pix011112345678909';
  const tail = '520400005303986';
  const end = '5802BR5910LOJA TESTE6009SAO PAULO62070503***';
  const parse = (body: string) => () => parseBrCode(sealed(body));
  assert.is(parse(`000201${account}${tail}${end}`)().key, '12345678909');
  assert.throws(() => parseBrCode(''), /printable ASCII/);
  assert.throws(() => parseBrCode(`${EVP_STATIC}é`), /printable ASCII/);
  assert.throws(() => parseBrCode(EVP_STATIC.slice(0, -1)), /wrong length/);
  assert.throws(() => parseBrCode(`${EVP_STATIC}\n`), /printable ASCII/);
  assert.throws(() => parseBrCode(`${EVP_STATIC} `), /No field starts/);
  assert.throws(() => parseBrCode(EVP_STATIC.replace('1D3D', '1d3d')), /CRC/);
  assert.throws(() => parseBrCode(LEADING_ZERO_CRC.replace('63040DC6', '6303DC6')), /Field 63 must be last/);
  assert.throws(parse(`${account}000201${tail}${end}`), /starts with field 00/);
  assert.throws(parse(`000201${tail}${end}`), /br\.gov\.bcb\.pix/);
  assert.throws(
    parse(`000201${account}27330014br.gov.bcb.pix011112345678909${tail}${end}`),
    /br\.gov\.bcb\.pix/,
  );
  assert.throws(parse(`000201${account}${account}${tail}${end}`), /Field 26 stands twice/);
  assert.throws(parse(`00020126180014br.gov.bcb.pix${tail}${end}`), /either a key or a URL/);
  assert.throws(parse(`00020126280014br.gov.bcb.pix0101k2501u${tail}${end}`), /either a key or a URL/);
  assert.throws(parse(`000201${account}520400005303840${end}`), /Field 53/);
  assert.throws(parse(`000201${account}5304${end}`), /Field|No field/);
  assert.throws(parse(`000201${account}${tail}5400${end}`), /Field 54 has a wrong length/);
  assert.throws(parse(`000201${account}${tail}54041,00${end}`), /Field 54 is no amount/);
  assert.throws(parse(`000201${account}${tail}541310000000000.0${end}`), /Field 54 is/);
  assert.throws(parse(`000201${account}${tail}541310000000000.5${end}`), /Field 54 is too large/);
  assert.throws(parse(`000201${account}${tail}${end.replace('5802BR', '5802US')}`), /Field 58/);
  assert.throws(
    parse(`000201${account}${tail}${end.replace('6009SAO PAULO', '6016SAO MIGUEL DO OE')}`),
    /Field 60/,
  );
  assert.throws(parse(`000201${account}${tail}${end.replace('5910LOJA TESTE', '')}`), /Field 59/);
});

s.run();
