/** What a text is by its looks: an id says itself what it is. */

export type Shape = 'transaction' | 'event' | 'delivery' | 'account' | 'client' | 'endToEnd' | 'other';

const SHAPES: readonly [Shape, RegExp][] = [
  ['transaction', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ['event', /^evt_/],
  ['delivery', /^dlv_/],
  ['account', /^acc_/],
  ['client', /^cli_/],
  ['endToEnd', /^E[0-9A-Za-z]{31}$/],
];

export function shapeOf(text: string): Shape {
  return SHAPES.find(([, pattern]) => pattern.test(text))?.[0] ?? 'other';
}
