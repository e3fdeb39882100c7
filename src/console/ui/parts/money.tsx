/** Amounts, from whole cents. */
import type { Posting } from '../../shapes.ts';

/** Legs as a reader looks for them: the merchant's own first, the outside last. */
const LEGS: readonly string[] = ['available', 'clearing', 'fees', 'bank'];

export function inOrder(postings: readonly Posting[]): Posting[] {
  return postings.toSorted((one, other) => LEGS.indexOf(one.leg) - LEGS.indexOf(other.leg));
}

const REAIS = new Intl.NumberFormat('pt-BR', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `R$ 1.234,56` in both languages: it is the currency's own way. The minus is the true sign. */
export function reais(cents: number): string {
  return `${cents < 0 ? '−' : ''}R$\u00a0${REAIS.format(Math.abs(cents) / 100)}`;
}

/** An amount that came or went: a debit is no error, so it has the ink of other text. */
export function Movement({ cents }: { cents: number }) {
  const kind = cents > 0 ? 'plus' : cents < 0 ? 'minus' : 'zero';
  return <span class={`money ${kind}`}>{`${cents > 0 ? '+' : ''}${reais(cents)}`}</span>;
}

export function Money({ cents }: { cents: number }) {
  return <span class="money">{reais(cents)}</span>;
}
