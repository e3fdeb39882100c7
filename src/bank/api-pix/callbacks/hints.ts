/** Reads a callback: which transactions it may be about. Nothing in it is believed: each hint is asked about. */
import type { Hint, Profile } from '../profile.ts';
import { type Answer, endToEndIdIn, jsonOf, listIn, objectOf, textIn } from '../reading.ts';

const ELEMENTS_MAX = 500;
/** Returns of an element that are looked up: a payment has a few. Reconciliation finds what others there were. */
const RETURNS_MAX = 100;

/** Letters and digits alone: what no id of ours or the bank's can be is dropped before anybody looks it up. */
const ID = /^[A-Za-z0-9-]{1,64}$/;

function isPossible(hint: Hint): boolean {
  switch (hint.kind) {
    case 'charge':
      return ID.test(hint.txid);
    case 'payment':
      return true;
    default:
      return ID.test(hint.id);
  }
}

function hintsOf(element: Answer, profile: Pick<Profile, 'hints'>): Hint[] {
  const hints: Hint[] = [...profile.hints(element)];
  const txid = textIn(element, 'txid');
  if (txid !== null) hints.push({ kind: 'charge', txid });
  const endToEndId = endToEndIdIn(element, 'endToEndId');
  if (endToEndId !== null) hints.push({ kind: 'payment', endToEndId });
  for (const each of listIn(element, 'devolucoes').slice(0, RETURNS_MAX)) {
    const id = textIn(each, 'id');
    if (id !== null) hints.push({ kind: 'return', id });
  }
  return hints.filter(isPossible);
}

/**
 * The hints of a callback's elements, each as many as it has; a body without `pix`, the bank's test for one, has none.
 * Inter posts the bare array of the elements. Null: neither that nor a JSON object, or more elements than a callback
 * may have.
 */
export function readCallback(body: string, profile: Pick<Profile, 'hints'>): Hint[][] | null {
  const told = jsonOf(body);
  const callback = Array.isArray(told) && told.length > 0 ? { pix: told } : objectOf(told);
  if (callback === null) return null;
  const elements = listIn(callback, 'pix');
  return elements.length > ELEMENTS_MAX ? null : elements.map((element) => hintsOf(element, profile));
}
