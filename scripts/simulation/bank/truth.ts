/** Reads the bank's own books: what it lists, in cents. Nothing here calls what is under test. */

interface Moved {
  valor: string;
  returns: readonly { valor: string; status: string }[];
}

export function cents(valor: string): number {
  return Number(valor.replace('.', ''));
}

export function reais(amount: number): string {
  return `${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, '0')}`;
}

/** The transaction behind one of our ids at the bank. */
export function idOf(bare: string): string {
  return bare.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** What may still come back of a payment or a transfer, cents. */
export function leftOf({ valor, returns }: Moved): number {
  const taken = returns.filter(({ status }) => status !== 'NAO_REALIZADO');
  return cents(valor) - taken.reduce((sum, each) => sum + cents(each.valor), 0);
}

/** What is left of it, cents, once all that came back has. */
export function staysOf({ valor, returns }: Moved): number {
  const back = returns.filter(({ status }) => status === 'DEVOLVIDO');
  return cents(valor) - back.reduce((sum, each) => sum + cents(each.valor), 0);
}
