/** Parts that Portuguese sentences share. */
import type { TransactionType } from '../../transactions.ts';

export const THE: Record<TransactionType, string> = { 'pix-in': 'a cobrança', cashout: 'a transferência' };
export const A: Record<TransactionType, string> = { 'pix-in': 'uma cobrança', cashout: 'uma transferência' };
export const TO_THE: Record<TransactionType, string> = {
  'pix-in': 'para a cobrança',
  cashout: 'para a transferência',
};

/** Cents as they are written in Brazil: -1234567 is `R$ -12.345,67`. */
export function reais(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, '.');
  return `R$ ${cents < 0 ? '-' : ''}${whole},${digits.slice(-2)}`;
}
