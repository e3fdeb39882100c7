/** What the shop sells. */

export interface Product {
  id: string;
  name: string;
  about: string;
  /** Cents. Whole reais: in the sandbox an amount's last two digits choose what happens, and 00 waits. */
  price: number;
}

export const PRODUCTS: readonly Product[] = [
  { id: 'mantiqueira', name: 'Serra da Mantiqueira', about: '250 g, chocolate & caramel', price: 4_800 },
  { id: 'caparao', name: 'Caparaó', about: '250 g, honey & red fruit', price: 5_400 },
  { id: 'filters', name: 'Paper filters', about: '100 pieces, size 02', price: 1_900 },
];

/** How many of one thing a cart may hold. */
export const MOST_PIECES = 20;

/** A cart: how many pieces of each product. */
export type Cart = ReadonlyMap<Product, number>;

/** The cart of a request, `{"PRODUCT": PIECES}`; null where it is none, or empty. Prices are the shop's, not the page's. */
export function parseCart(given: unknown): Cart | null {
  if (typeof given !== 'object' || given === null) return null;
  const cart = new Map<Product, number>();
  for (const [id, pieces] of Object.entries(given)) {
    const product = PRODUCTS.find((each) => each.id === id);
    const isCount = Number.isInteger(pieces) && pieces >= 1 && pieces <= MOST_PIECES;
    if (product === undefined || !isCount) return null;
    cart.set(product, pieces);
  }
  return cart.size === 0 ? null : cart;
}

/** Cents. */
export function totalOf(cart: Cart): number {
  return [...cart].reduce((sum, [{ price }, pieces]) => sum + price * pieces, 0);
}
