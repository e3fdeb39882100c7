import { createRequire } from 'node:module';
import type { parsePhoneNumberFromString } from 'libphonenumber-js/max';

const EMAIL_MOST = 254;
const LOCAL_PART_MOST = 64;
const LOCAL_PART = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const DOMAIN_LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const ALL_DIGITS = /^\d+$/;
const E164_FORM = /^\+[1-9]\d{6,14}$/;

/**
 * Whether the value is a well-formed e-mail address: ASCII, a dotted local part of at most 64 characters and
 * a domain name with a dot, 254 characters at most (RFC 5321). Quoted local parts, address literals and
 * comments are refused, though the RFC has them: no payer is reached there. Any case.
 */
export function isEmail(value: string): boolean {
  return value.length <= EMAIL_MOST && value.indexOf('@') <= LOCAL_PART_MOST && hasEmailForm(value);
}

/** Whether the value is written as an e-mail address, whatever the lengths of the whole and of its local part. */
export function hasEmailForm(value: string): boolean {
  const at = value.indexOf('@');
  return at >= 1 && LOCAL_PART.test(value.slice(0, at)) && isDomainName(value.slice(at + 1));
}

/**
 * Whether the value is a phone number of any country in E.164: `+`, country code, digits only, as many as the country's
 * numbers have; in Brazil, one that its plan knows. Numbers that the numbering plans know in another spelling (a trunk
 * zero kept, say) are refused.
 */
export function isE164(value: string): boolean {
  return phoneIn(value) !== null;
}

/** Whether the value is a valid Brazilian phone number in E.164, `+55` first. */
export function isBrazilianPhone(value: string): boolean {
  return phoneIn(value)?.country === 'BR';
}

type Parse = typeof parsePhoneNumberFromString;

const load = createRequire(import.meta.url);
let parse: Parse | null = null;

/**
 * Reads the numbering plans of all countries, once: they take 6 MB and 35 ms of a thread, and most threads and commands
 * never see a phone's number.
 */
export function readNumberingPlans(): Parse {
  parse ??= (load('libphonenumber-js/max') as { parsePhoneNumberFromString: Parse })
    .parsePhoneNumberFromString;
  return parse;
}

const BRAZIL = '+55';

function phoneIn(value: string): ReturnType<Parse> | null {
  // The parser is lenient (words, extensions, other digits), so the strict form comes first.
  if (!E164_FORM.test(value)) return null;
  const phone = readNumberingPlans()(value);
  if (phone?.number !== value) return null;
  // Which ranges are in use elsewhere changes sooner than what is installed here.
  const isNumber = value.startsWith(BRAZIL) ? phone.isValid() : phone.isPossible();
  return isNumber ? phone : null;
}

function isDomainName(domain: string): boolean {
  const labels = domain.split('.');
  const last = labels.at(-1) ?? '';
  // A last label of digits alone is an address, not a name.
  return labels.length > 1 && labels.every((label) => DOMAIN_LABEL.test(label)) && !ALL_DIGITS.test(last);
}
