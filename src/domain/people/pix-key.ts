import { hasEmailForm, isBrazilianPhone } from './contact.ts';
import { isCnpj, isCpf } from './document.ts';
import { PIX_KEY_TYPES, type PixKeyType } from './pix-key-types.ts';

/** A key in the form in which it is kept and shown, or an English clause that says the form expected. */
export type NormalizedPixKey = { ok: true; key: string } | { ok: false; message: string };

interface KeyForm {
  expected: string;
  /** The key in its one form, or null. Only ASCII may change its case: 'ſ' must not become an 'S'. */
  normalize(value: string): string | null;
}

const EMAIL_KEY_MOST = 77;
const EVP_FORM = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ASCII_ALPHANUMERIC = /^[0-9A-Za-z]+$/;

const KEY_FORMS: Record<PixKeyType, KeyForm> = {
  CPF: {
    expected: 'must be a CPF: 11 digits with right check digits, without punctuation or spaces',
    normalize: (value) => (isCpf(value) ? value : null),
  },
  CNPJ: {
    expected: 'must be a CNPJ: 14 digits or letters with right check digits, without punctuation or spaces',
    normalize: normalizeCnpj,
  },
  EMAIL: {
    expected: 'must be an e-mail address of at most 77 characters, without spaces',
    // A key is a name in the directory, to which no mail goes: its length is bounded, and that of no part.
    normalize: (value) =>
      value.length <= EMAIL_KEY_MOST && hasEmailForm(value) ? value.toLowerCase() : null,
  },
  PHONE: {
    expected: 'must be a Brazilian phone number in E.164: +55, area code and number, without punctuation',
    normalize: (value) => (isBrazilianPhone(value) ? value : null),
  },
  EVP: {
    expected: 'must be a random key: a UUID of 32 hexadecimal digits with its hyphens',
    normalize: (value) => (EVP_FORM.test(value) ? value.toLowerCase() : null),
  },
};

/**
 * Brings a Pix key into its one form: e-mail and EVP to lower case, CNPJ to upper. Nothing else is mended:
 * punctuation, spaces and a missing +55 are refused with a message that says the form expected (and never
 * repeats the value, which may be a person's).
 */
export function normalizePixKey(type: PixKeyType, value: string): NormalizedPixKey {
  const key = KEY_FORMS[type].normalize(value);
  return key === null ? { ok: false, message: KEY_FORMS[type].expected } : { ok: true, key };
}

/** The type of a key given without one, or null where it is none; the five forms exclude each other. */
export function detectPixKeyType(value: string): PixKeyType | null {
  return PIX_KEY_TYPES.find((type) => normalizePixKey(type, value).ok) ?? null;
}

/** A key given without its type, in its one form; null where it is none. */
export function anyPixKey(value: string): string | null {
  const type = detectPixKeyType(value);
  const normalized = type === null ? null : normalizePixKey(type, value);
  return normalized?.ok === true ? normalized.key : null;
}

function normalizeCnpj(value: string): string | null {
  if (!ASCII_ALPHANUMERIC.test(value)) return null;
  const key = value.toUpperCase();
  return isCnpj(key) ? key : null;
}
