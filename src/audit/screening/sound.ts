/** Something is off: what it is, another tells. */
class NotSound extends Error {}

/** @throws NotSound where it isn't so */
export function expect(isSo: boolean): asserts isSo {
  if (!isSo) throw new NotSound();
}
