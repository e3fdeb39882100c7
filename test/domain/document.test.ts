import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isCnpj, isCpf } from '../../src/domain/people/document.ts';
import { holds } from './holds.ts';

const s = suite('document');

/** The check digit of both documents: weights over (character code - 48), modulo 11, 10 counts as 0. */
function checkDigit(body: string, weights: readonly number[]): string {
  const sum = weights.reduce((total, weight, at) => total + weight * (body.charCodeAt(at) - 48), 0);
  const rest = sum % 11;
  return String(rest < 2 ? 0 : 11 - rest);
}

function completeCpf(body: string): string {
  const first = body + checkDigit(body, [10, 9, 8, 7, 6, 5, 4, 3, 2]);
  return first + checkDigit(first, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
}

function completeCnpj(body: string): string {
  const first = body + checkDigit(body, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]);
  return first + checkDigit(first, [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]);
}

const DIGITS = [...'0123456789'];
const ALPHANUMERICS = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'];

function body(characters: string[], length: number): fc.Arbitrary<string> {
  const unit = fc.constantFrom(...characters);
  return fc.string({ unit, minLength: length, maxLength: length }).filter((text) => !/^(.)\1*$/.test(text));
}

s('CPFs with right check digits', () => {
  for (const value of ['52998224725', '12345678909', '00000000191']) assert.ok(isCpf(value), value);
});

s('CPFs in any other form', () => {
  const wrong = [
    '',
    '529.982.247-25',
    ' 52998224725',
    '52998224725\n',
    '5299822472',
    '529982247250',
    '52998224724',
  ];
  for (const value of [...wrong, '52998224735', 'abcdefghijk', '５２９９８２２４７２５'])
    assert.not(isCpf(value), value);
});

s('CNPJs with right check digits, of digits and of letters', () => {
  for (const value of ['12ABC34501DE35', '11222333000181', '00000000000191']) assert.ok(isCnpj(value), value);
});

s('CNPJs in any other form', () => {
  const wrong = [
    '',
    '11.222.333/0001-81',
    '12.ABC.345/01DE-35',
    '12abc34501de35',
    '12ABC34501DE34',
    '12ABC34501DE3A',
  ];
  const more = ['11222333000191', '1122233300018', '112223330001811', '11222333000181 ', '12ÁBC34501DE35'];
  for (const value of [...wrong, ...more]) assert.not(isCnpj(value), value);
});

s('all alike is wrong', () => {
  for (const digit of DIGITS) {
    assert.not(isCpf(digit.repeat(11)), digit);
    assert.not(isCnpj(digit.repeat(14)), digit);
  }
});

s('of all endings of a CPF exactly one is right', () => {
  holds(
    fc.property(body(DIGITS, 9), fc.integer({ min: 0, max: 99 }), (digits, ending) => {
      const candidate = digits + String(ending).padStart(2, '0');
      assert.is(isCpf(candidate), candidate === completeCpf(digits));
      assert.ok(isCpf(completeCpf(digits)));
    }),
  );
});

s('of all endings of a CNPJ exactly one is right', () => {
  holds(
    fc.property(body(ALPHANUMERICS, 12), fc.integer({ min: 0, max: 99 }), (characters, ending) => {
      const candidate = characters + String(ending).padStart(2, '0');
      assert.is(isCnpj(candidate), candidate === completeCnpj(characters));
      assert.ok(isCnpj(completeCnpj(characters)));
    }),
  );
});

s.run();
