/**
 * A new charge, as the bank is told of it and as the engine gets it. All parts are written out: Node 20 takes ten times
 * as long to put them together from objects.
 */
import { type Account, keyOf } from '../domain/account.ts';
import { pixInFee } from '../domain/fees.ts';
import type { Customer } from '../domain/people/customer.ts';
import type { Metadata } from '../domain/transactions.ts';
import type { ChargeToRegister, RegisteredCharge } from './bank.ts';
import type { NewCharge } from './commands.ts';

export interface ChargeRequest {
  amount: number;
  /** Null or absent: none. */
  idempotencyKey?: string | null;
  externalRef: string | null;
  description: string | null;
  additionalInfo: string | null;
  customer: Customer | null;
  metadata: Metadata;
  /** Seconds; null: the account's, else the server's. */
  expiresIn: number | null;
}

/** `expiresIn`: seconds from now. */
export function chargeToRegister(
  id: string,
  account: Account,
  { amount, description, additionalInfo, customer }: ChargeRequest,
  expiresIn: number,
): ChargeToRegister {
  const { merchantName, merchantCity } = account;
  const { pixKey, isOwn } = keyOf(account);
  return {
    id,
    amount,
    expiresIn,
    pixKey,
    isOwn,
    merchantName,
    merchantCity,
    description,
    additionalInfo,
    customer,
  };
}

/** A charge that the bank has registered so. */
export function newCharge(
  account: Account,
  request: ChargeRequest,
  expiresIn: number,
  { qrcode, pixKey }: RegisteredCharge,
): NewCharge {
  const { amount, idempotencyKey = null } = request;
  const totalFee = pixInFee(account.fees, amount);
  return {
    amount,
    fee: { netAmount: amount - totalFee, totalFee },
    externalRef: request.externalRef,
    description: request.description,
    additionalInfo: request.additionalInfo,
    customer: request.customer,
    metadata: request.metadata,
    qrcode,
    expiresIn,
    ...(idempotencyKey === null ? {} : { idempotencyKey }),
    ...(pixKey === undefined ? {} : { pixKey }),
  };
}
