/** Refunds of charges: POST and GET /pix-in/{id}/refunds, GET /refunds. */
import { create, creation, pathPart, read } from './calls.ts';
import type { CallOptions, Connection } from './connection.ts';
import type { Refund, RefundList, RefundRequest } from './types.ts';

/** One refund, by exactly one of its names. */
export type RefundName = { id: string; idempotencyKey?: never } | { idempotencyKey: string; id?: never };

export class RefundsEndpoint {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Gives the payer of a charge the money back: `amount` cents, or without it what remains. The refund is `pending`
   * until the bank says more. With an `idempotencyKey` it is sent again where no answer comes, and gives once.
   *
   * @throws PixstateError: TRANSACTION_NOT_FOUND, DUPLICATE_REQUEST (the key has a refund: `refundId`),
   * REFUND_NOT_POSSIBLE, VALIDATION_ERROR (on `amount`: more than remains), INSUFFICIENT_BALANCE, PROCESSING_ERROR
   */
  async create(pixInId: string, request: RefundRequest = {}, options: CallOptions = {}): Promise<Refund> {
    const { call, sent } = creation(`/pix-in/${pathPart(pixInId)}/refunds`, request);
    const parts = {
      call,
      existing: ({ refundId: id }: { refundId?: string }) => read('/refunds', { id }),
      isSame: ({ idempotencyKey, transactionId, amount }: Refund) =>
        idempotencyKey === sent.idempotencyKey &&
        transactionId === pixInId.toLowerCase() &&
        amount === (sent.amount ?? amount),
    };
    return create(this.#connection, parts, options);
  }

  /** @throws PixstateError: TRANSACTION_NOT_FOUND */
  get({ id, idempotencyKey }: RefundName, options: CallOptions = {}): Promise<Refund> {
    const call = read('/refunds', { id, idempotencyKey });
    return this.#connection.json(call, this.#connection.patience(options));
  }

  /** The refunds of a charge, newest first. @throws PixstateError: TRANSACTION_NOT_FOUND */
  async list(pixInId: string, options: CallOptions = {}): Promise<RefundList> {
    const call = read(`/pix-in/${pathPart(pixInId)}/refunds`);
    return this.#connection.json(call, this.#connection.patience(options));
  }
}
