import { MAX_AMOUNT } from './money.ts';

// BR Code: the Brazilian profile of EMV MPM. Each field is an id of two digits, a length of two digits and
// the value; templates (26, 62) hold fields of the same form. The limits are those of the
// central bank's manual.

const GUI = 'br.gov.bcb.pix';
const FIELD_MOST = 99;
const KEY_OR_URL_MOST = 77;
const NAME_MOST = 25;
const CITY_MOST = 15;
const AMOUNT_MOST = 13;
/** Every field costs this much before its value: id and length. */
const FIELD_HEAD = 4;
const CRC_HEAD = '6304';
const CRC_LENGTH = 4;
const NO_TXID = '***';

// Fields 59 and 60 must not be empty, whatever script the merchant writes.
const NAME_WITHOUT_ASCII = 'RECEBEDOR';
const CITY_WITHOUT_ASCII = 'BRASIL';

/** Fields 52 and 53, and 58: of any trade, in reais, in Brazil. */
const CATEGORY_AND_CURRENCY = field('52', '0000') + field('53', '986');
const COUNTRY = field('58', 'BR');

const TXID_FORM = /^[A-Za-z0-9]{1,25}$/;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;
const AMOUNT_FORM = /^\d+(?:\.\d{1,2})?$/;
const SCHEME = /^https?:\/\//i;

/** The content of a static code. */
export interface StaticBrCode {
  /** The normalised Pix key, at most 77 characters. */
  key: string;
  /** Cents, 1..MAX_AMOUNT; null lets the payer choose. */
  amount: number | null;
  /** Folded and cut to 25. */
  merchantName: string;
  /** Folded and cut to 15. */
  merchantCity: string;
  /** 1..25 of [A-Za-z0-9], or null. */
  txid: string | null;
  /** Folded and cut to the room that the key leaves in field 26, perhaps to nothing. */
  description?: string | null;
}

/** The content of a dynamic code; amount, expiry and txid stand behind the URL. */
export interface DynamicBrCode {
  /** Where the charge is fetched; a scheme is taken off, at most 77 characters are left. */
  url: string;
  merchantName: string;
  merchantCity: string;
}

/** A code taken apart. */
export interface ParsedBrCode {
  /** The top level, id to value, in the order of the code, CRC included. */
  fields: Map<string, string>;
  /** The fields of the Pix template (26..51). */
  account: Map<string, string>;
  /** Exactly one of key and url is given. */
  key: string | null;
  url: string | null;
  description: string | null;
  /** Cents. */
  amount: number | null;
  merchantName: string;
  merchantCity: string;
  /** Null for `***`. */
  txid: string | null;
}

const CRC_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF) of the UTF-8 bytes, as four upper-case hex digits. */
export function crc16(text: string): string {
  let crc = 0xffff;
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i++) {
    crc = ((crc << 8) & 0xffff) ^ (CRC_TABLE[(crc >> 8) ^ (bytes[i] ?? 0)] ?? 0);
  }
  return crc.toString(16).toUpperCase().padStart(CRC_LENGTH, '0');
}

/** Letters and signs that no decomposition brings to ASCII. */
// biome-ignore format: rows keep the table on one screen
const FOLDS: Record<string, string> = {
  Æ: 'AE', æ: 'ae', Œ: 'OE', œ: 'oe', Ø: 'O', ø: 'o', Ł: 'L', ł: 'l', Đ: 'D', đ: 'd', Ð: 'D', ð: 'd',
  Þ: 'TH', þ: 'th', ß: 'ss', ẞ: 'SS', ı: 'i', '‘': "'", '’': "'", '‚': "'", '“': '"', '”': '"', '„': '"',
  '«': '"', '»': '"', '‐': '-', '‒': '-', '–': '-', '—': '-', '―': '-', '−': '-', '•': '-', '⁄': '/',
  '×': 'x',
};

/**
 * Folds a text to printable ASCII of at most `max` characters, counted after folding.
 * Accents fall off, ligatures and typographic signs become their plain forms, line breaks and tabs a space;
 * what has no plain form (other scripts, emoji) is dropped. Runs of spaces become one, ends are trimmed.
 * Never longer than `max`, perhaps empty.
 */
export function foldText(text: string, max: number): string {
  // Most names are plain already.
  const plain = PLAIN.test(text) ? text : folded(text);
  return plain.slice(0, Math.max(0, max)).trimEnd();
}

/** Printable ASCII without a space at either end or two in a row. */
const PLAIN = /^(?! )(?:[\x21-\x7e]| (?! |$))*$/;

function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[^\x20-\x7e]/gu, (char) => FOLDS[char] ?? (/\s/u.test(char) ? ' ' : ''))
    .replace(/ +/g, ' ')
    .trim();
}

/**
 * Composes a static BR Code: fields 00, 26, 52, 53, 54 with an amount, 58, 59, 60, 62, 63.
 * Throws a RangeError for a key, an amount or a txid that a code can't hold; texts are made to fit.
 */
export function composeBrCode(code: StaticBrCode): string {
  const head = field('00', GUI) + field('01', addressOf(code.key, 'key'));
  const room = FIELD_MOST - head.length - FIELD_HEAD;
  const account = head + optionalField('02', foldText(code.description ?? '', room));
  const amount = code.amount === null ? '' : field('54', amountText(code.amount));
  return sealed(field('00', '01') + field('26', account) + payment(code, amount, txidText(code.txid)));
}

/**
 * Composes a dynamic BR Code: as a static one, with 01 = 12 and a URL in place of the key.
 * Throws a RangeError for a URL that is empty, longer than 77 or not visible ASCII.
 */
export function composeDynamicBrCode(code: DynamicBrCode): string {
  const url = addressOf(code.url.replace(SCHEME, ''), 'URL');
  const account = field('00', GUI) + field('25', url);
  return sealed(field('00', '01') + field('01', '12') + field('26', account) + payment(code, '', NO_TXID));
}

/**
 * Takes a BR Code apart, strictly: printable ASCII, lengths that come out even, no id twice, 00 first, 63
 * last with the right CRC, one Pix template with either a key or a URL, currency and country of Brazil, name,
 * city and amount within their limits. Throws an Error that says what is wrong.
 */
export function parseBrCode(code: string): ParsedBrCode {
  if (!PRINTABLE_ASCII.test(code)) throw new Error('A BR Code is printable ASCII.');
  const fields = fieldsOf(code);
  checkFrame(code, fields);
  const account = pixTemplate(fields);
  const key = account.get('01') ?? null;
  const url = account.get('25') ?? null;
  if ((key === null) === (url === null)) throw new Error('Field 26 must hold either a key or a URL.');
  const txid = fieldsOf(fields.get('62') ?? '').get('05') ?? NO_TXID;
  return {
    fields,
    account,
    key,
    url,
    description: account.get('02') ?? null,
    amount: amountOf(fields.get('54')),
    merchantName: bounded(fields, '59', NAME_MOST),
    merchantCity: bounded(fields, '60', CITY_MOST),
    txid: txid === NO_TXID ? null : txid,
  };
}

/** The fields from 52 to 62, the same in both sorts of codes. */
function payment(
  merchant: { merchantName: string; merchantCity: string },
  amount: string,
  txid: string,
): string {
  const name = field('59', foldText(merchant.merchantName, NAME_MOST) || NAME_WITHOUT_ASCII);
  const city = field('60', foldText(merchant.merchantCity, CITY_MOST) || CITY_WITHOUT_ASCII);
  return CATEGORY_AND_CURRENCY + amount + COUNTRY + name + city + field('62', field('05', txid));
}

function field(id: string, value: string): string {
  const { length } = value;
  return length < 10 ? `${id}0${length}${value}` : `${id}${length}${value}`;
}

function optionalField(id: string, value: string): string {
  return value === '' ? '' : field(id, value);
}

function sealed(body: string): string {
  const unsealed = body + CRC_HEAD;
  return unsealed + crc16(unsealed);
}

function addressOf(value: string, what: string): string {
  if (value.length <= KEY_OR_URL_MOST && VISIBLE_ASCII.test(value)) return value;
  throw new RangeError(`The ${what} of a BR Code has 1 to ${KEY_OR_URL_MOST} visible ASCII characters.`);
}

function txidText(txid: string | null): string {
  if (txid === null) return NO_TXID;
  if (!TXID_FORM.test(txid)) throw new RangeError('A txid has 1 to 25 characters of 0-9, A-Z and a-z.');
  return txid;
}

function amountText(cents: number): string {
  if (!Number.isSafeInteger(cents) || cents < 1 || cents > MAX_AMOUNT) {
    throw new RangeError(`The amount of a BR Code is whole cents from 1 to ${MAX_AMOUNT}.`);
  }
  const digits = String(cents).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function amountOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (text.length > AMOUNT_MOST || !AMOUNT_FORM.test(text))
    throw new Error(`Field 54 is no amount: ${text}.`);
  const [reais = '', cents = ''] = text.split('.');
  const amount = Number(reais + cents.padEnd(2, '0'));
  if (amount > MAX_AMOUNT) throw new Error(`Field 54 is too large: ${text}.`);
  return amount;
}

function fieldsOf(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    const head = /^(\d{2})(\d{2})$/.exec(text.slice(at, at + FIELD_HEAD));
    if (head === null) throw new Error(`No field starts at character ${at}.`);
    const [, id = '', length = ''] = head;
    const value = text.slice(at + FIELD_HEAD, at + FIELD_HEAD + Number(length));
    if (value === '' || value.length !== Number(length)) throw new Error(`Field ${id} has a wrong length.`);
    if (fields.has(id)) throw new Error(`Field ${id} stands twice.`);
    fields.set(id, value);
    at += FIELD_HEAD + value.length;
  }
  return fields;
}

function checkFrame(code: string, fields: Map<string, string>): void {
  if (!code.startsWith('000201')) throw new Error('A BR Code starts with field 00 = 01.');
  const body = code.slice(0, -CRC_LENGTH);
  if (!body.endsWith(CRC_HEAD) || [...fields.keys()].at(-1) !== '63')
    throw new Error('Field 63 must be last.');
  if (fields.get('63') !== crc16(body)) throw new Error('The CRC in field 63 is wrong.');
  if (fields.get('53') !== '986') throw new Error('Field 53 must be 986.');
  if (fields.get('58') !== 'BR') throw new Error('Field 58 must be BR.');
  if (!/^\d{4}$/.test(fields.get('52') ?? '')) throw new Error('Field 52 must be four digits.');
}

function pixTemplate(fields: Map<string, string>): Map<string, string> {
  const templates = [...fields]
    .filter(([id]) => id >= '26' && id <= '51')
    .map(([, value]) => fieldsOf(value));
  const [account, second] = templates.filter((template) => template.get('00')?.toLowerCase() === GUI);
  if (account === undefined || second !== undefined) throw new Error(`One field must be of ${GUI}.`);
  return account;
}

function bounded(fields: Map<string, string>, id: string, most: number): string {
  const value = fields.get(id) ?? '';
  if (value === '' || value.length > most) throw new Error(`Field ${id} must have 1 to ${most} characters.`);
  return value;
}
