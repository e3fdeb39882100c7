import * as fc from 'fast-check';

/** Asserts a synchronous property: unlike fc.assert, its type leaves no promise to wait for. */
export function holds<T>(property: fc.IProperty<T>, parameters: fc.Parameters<T> = {}): void {
  void fc.assert(property, parameters);
}
