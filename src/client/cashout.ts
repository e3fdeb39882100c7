/** Transfers: POST and GET /cashout. */
import { create, creation, read } from './calls.ts';
import type { CallOptions, Connection } from './connection.ts';
import type { Cashout, CashoutRequest } from './types.ts';

/** One transfer, by exactly one of its names; `reference` is its end-to-end id. */
export type CashoutName = { id: string; reference?: never } | { reference: string; id?: never };

/** Keys come back in their normal form, which differs in case alone. */
function isSameKey(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

export class CashoutEndpoint {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Sends money to a Pix key; the balance falls by amount and fee at once, and both come back where it fails. Give it
   * an `idempotencyKey` that your own records have: with one it is sent again where no answer comes, and pays once;
   * without one each call is a transfer of its own, sent one time.
   *
   * @throws PixstateError: VALIDATION_ERROR, DUPLICATE_REQUEST (the key has a transfer: `transactionId`),
   * INSUFFICIENT_BALANCE, PROCESSING_ERROR (the bank refused it: nothing was debited)
   */
  async create(request: CashoutRequest, options: CallOptions = {}): Promise<Cashout> {
    const { call, sent } = creation('/cashout', request);
    const { amount, externalRef = null, idempotencyKey, pix } = sent;
    const parts = {
      call,
      existing: ({ transactionId: id }: { transactionId: string }) => read('/cashout', { id }),
      isSame: (made: Cashout) =>
        made.idempotencyKey === idempotencyKey &&
        made.amount === amount &&
        made.externalRef === externalRef &&
        made.pix.pixKeyType === pix.pixKeyType &&
        isSameKey(made.pix.pixKey, pix.pixKey),
    };
    return create(this.#connection, parts, options);
  }

  /** @throws PixstateError: TRANSACTION_NOT_FOUND */
  get({ id, reference }: CashoutName, options: CallOptions = {}): Promise<Cashout> {
    const call = read('/cashout', { id, reference });
    return this.#connection.json(call, this.#connection.patience(options));
  }
}
