import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isBrazilianPhone, isE164, isEmail } from '../../src/domain/people/contact.ts';

const s = suite('contact');

s('well-formed e-mail addresses', () => {
  const local = 'a'.repeat(64);
  const label = 'b'.repeat(63);
  const addresses = [
    'a@b.co',
    'pix@bcb.gov.br',
    'Maria.Silva+loja@Exemplo.COM.br',
    "o'brien_x-1@sub.dominio.com",
    'a@xn--caf-dma.com',
    'a@1.com',
    'a@b.xn--p1ai',
    `${local}@${label}.com`,
  ];
  for (const address of addresses) assert.ok(isEmail(address), address);
});

s('anything else is no e-mail address', () => {
  const others = [
    '',
    '@',
    'a',
    'a@',
    '@b.co',
    'a@b',
    'a@b.',
    'a@.b',
    'a@b..c',
    'a@-b.co',
    'a@b-.co',
    'a@b_c.co',
    'a@@b.co',
    'a@b@c.co',
    '.a@b.co',
    'a.@b.co',
    'a..a@b.co',
    ' a@b.co',
    'a@b.co ',
    'a@b.co\n',
    'a b@c.co',
    '"a b"@c.co',
    'a@[127.0.0.1]',
    'a@127.0.0.1',
    'joão@b.co',
    'a@café.com',
    'a@b.co\u0000',
    `${'a'.repeat(65)}@b.co`,
    `a@${'b'.repeat(64)}.co`,
    `a@${'b.'.repeat(126)}co`,
  ];
  for (const other of others) assert.not(isEmail(other), other);
});

s('hostile addresses take no time', () => {
  const started = process.hrtime.bigint();
  for (const unit of ['a', 'a.', '@', 'a@', '-', '!']) isEmail(unit.repeat(200_000));
  for (let length = 1; length < 254; length += 1) {
    isEmail(`${'a.'.repeat(length / 2)}@`);
    isEmail(`a@${'b-'.repeat(length / 2)}`);
  }
  assert.ok(process.hrtime.bigint() - started < 1_000_000_000n);
});

s('phone numbers of any country in E.164', () => {
  const inUse = ['+5511999999999', '+551133334444', '+14155552671', '+442071838750', '+390612345678'];
  for (const phone of [...inUse, '+15551234567', '+447700900123']) assert.ok(isE164(phone), phone);
});

s('phone numbers in any other form', () => {
  const others = [
    '',
    '+',
    '5511999999999',
    '005511999999999',
    '+55 11 99999-9999',
    '+55(11)999999999',
    ' +5511999999999',
  ];
  const more = [
    '+5511999999999x1',
    '+5511999999999;ext=1',
    '+５５11999999999',
    '+0511999999999',
    '+1234567',
    '+155512345678',
    '+5511899999999',
    '+55119999',
  ];
  const trunk = [
    '+55011999999999',
    '+4402071838750',
    '+99912345678',
    '+5511999999999\n',
    '+551199999999999999',
  ];
  for (const phone of [...others, ...more, ...trunk]) assert.not(isE164(phone), phone);
});

s('only +55 is Brazilian', () => {
  assert.ok(isBrazilianPhone('+5511999999999'));
  assert.ok(isBrazilianPhone('+552133334444'));
  assert.not(isBrazilianPhone('+14155552671'));
  assert.not(isBrazilianPhone('11999999999'));
  assert.not(isBrazilianPhone('+5500999999999'));
  assert.not(isBrazilianPhone('+551199999999'));
});

s.run();
