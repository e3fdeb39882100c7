/** Payer data: strict where a merchant gives it, lenient where the bank does. */
import { codePoints, isPrintable } from '../text.ts';
import { isE164, isEmail } from './contact.ts';
import type { Customer } from './customer.ts';
import { isCnpj, isCpf } from './document.ts';

const MAX_NAME = 140;

/** A payer's name: 1..140 printable code points. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && isPrintable(value) && codePoints(value) <= MAX_NAME;
}

/** Whether a document's number is right for its type. */
export function isDocument(type: unknown, number: unknown): boolean {
  if (typeof number !== 'string') return false;
  return type === 'CPF' ? isCpf(number) : type === 'CNPJ' && isCnpj(number);
}

function part<Value>(given: unknown, isRight: (value: string) => boolean, otherwise: Value): string | Value {
  return typeof given === 'string' && isRight(given) ? given : otherwise;
}

/**
 * The payer, as the bank tells: its parts replace those given at creation. A part that is missing, masked or
 * malformed never blocks a payment: the part given at creation stays, else null. Null where nothing is known.
 */
export function mergePayer(given: Customer | null, payer: unknown): Customer | null {
  if (typeof payer !== 'object' || payer === null || Array.isArray(payer)) return given;
  const told = payer as Record<string, unknown>;
  const document = told.document as { type?: unknown; number?: unknown } | null | undefined;
  const isTold =
    typeof document === 'object' && document !== null && isDocument(document.type, document.number);
  const merged: Customer = {
    name: part(told.name, isName, given?.name ?? null),
    document: isTold
      ? { type: String(document.type), number: String(document.number) }
      : (given?.document ?? null),
    email: part(told.email, isEmail, given?.email ?? null),
    phone: part(told.phone, isE164, given?.phone ?? null),
  };
  return Object.values(merged).every((value) => value === null) ? null : merged;
}
