/**
 * Documents, Pix keys and ways to reach a person are shown by their last two characters. What a member's name tells is
 * masked, and so is the same text wherever else it stands; a document in a free text is known by its form.
 */
import { isCnpj, isCpf } from '../../domain/people/document.ts';

const SHOWN = 2;
const DOTS = '•••';

/** Members whose texts are masked, in all spellings that banks and merchants have. */
const MASKED = new Set([
  ...['document', 'documento', 'number', 'cpf', 'cnpj', 'taxid', 'tax_id'],
  ...['pixkey', 'pix_key', 'key', 'chave', 'qrcode', 'pixcopiaecola'],
  ...['email', 'phone', 'telefone'],
]);
/** Members that are ids of ours, or of a bank: one of them may have a document's form by chance. */
const PLAIN = new Set(['id', 'reference', 'endtoendid', 'end_to_end_id']);
/** What documents look like: of digits, also behind a word without a space, and of letters, too, by themselves. */
const DOCUMENTS = [
  /(?<![\d.])(?:\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}|\d{14})(?!\d)/g,
  /(?<![\w.])(?:[\dA-Z]{2}\.[\dA-Z]{3}\.[\dA-Z]{3}\/[\dA-Z]{4}-\d{2}|[\dA-Z]{12}\d{2})(?!\w)/g,
];
/** A member with a text, in JSON that stands in a text, which may be cut off. */
const MEMBERS = /"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)/g;

function masked(text: string): string {
  return text.length <= SHOWN ? DOTS : `${DOTS}${text.slice(-SHOWN)}`;
}

function isDocument(text: string): boolean {
  const bare = text.replace(/[./-]/g, '');
  return isCpf(bare) || isCnpj(bare);
}

function withoutDocuments(text: string): string {
  const hide = (found: string): string => (isDocument(found) ? masked(found) : found);
  return DOCUMENTS.reduce((rest, form) => rest.replace(form, hide), text);
}

function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, masked(secret)), text);
}

/** A free text. */
function bare(text: string, secrets: readonly string[]): string {
  return withoutDocuments(without(secrets, text));
}

/** Gathers the texts of members that are masked. */
function gather(value: unknown, name: string, secrets: Set<string>): void {
  if (typeof value === 'string') {
    if (MASKED.has(name.toLowerCase()) && value !== '') secrets.add(value);
    for (const [, member = '', text = ''] of value.matchAll(MEMBERS)) gather(text, member, secrets);
  } else if (typeof value === 'object' && value !== null) {
    for (const [member, each] of Object.entries(value))
      gather(each, Array.isArray(value) ? name : member, secrets);
  }
}

/** Shorter ones stand in other texts by chance. */
const SHORTEST = 6;

/** Whatever a merchant puts here is a free text: names and numbers, too. */
const FREE = 'metadata';

function hidden(value: unknown, name: string, secrets: readonly string[], isFree = false): unknown {
  if (typeof value === 'string') {
    if (MASKED.has(name.toLowerCase())) return masked(value);
    return PLAIN.has(name.toLowerCase()) ? without(secrets, value) : bare(value, secrets);
  }
  // A refund's `number` counts, and tells of nobody.
  if (typeof value === 'number' && name !== 'number' && MASKED.has(name.toLowerCase()))
    return masked(String(value));
  if (typeof value === 'number' && isFree && isDocument(String(value))) return masked(String(value));
  if (Array.isArray(value)) return value.map((each) => hidden(each, name, secrets));
  if (typeof value !== 'object' || value === null) return value;
  const areFree = name === FREE;
  return Object.fromEntries(
    Object.entries(value).map(([member, each]) => [
      areFree ? bare(member, secrets) : member,
      hidden(each, member, secrets, areFree),
    ]),
  );
}

/** The same plain JSON, masked; `about`: what it is about, whose masked members may stand in it as well. */
export function mask<Value>(value: Value, about: unknown = null): Value {
  const found = new Set<string>();
  gather(value, '', found);
  gather(about, '', found);
  const secrets = [...found].filter((text) => text.length >= SHORTEST).sort((a, b) => b.length - a.length);
  return hidden(value, '', secrets) as Value;
}
