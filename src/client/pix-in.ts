/** Charges: POST and GET /pix-in, POST /pix-in/{id}/cancel. */
import { create, creation, pathPart, read } from './calls.ts';
import { type CallOptions, type Connection, jsonOf } from './connection.ts';
import type { CancelRequest, PixIn, PixInRequest } from './types.ts';

/** One charge, by exactly one of its names. */
export type PixInName = { id: string; externalRef?: never } | { externalRef: string; id?: never };

export class PixInEndpoint {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Creates a charge, whose `pix.qrcode` is what the payer scans or pastes. With an `idempotencyKey` it is sent again
   * where no answer comes, and makes one charge all the same.
   *
   * @throws PixstateError: VALIDATION_ERROR, DUPLICATE_REQUEST (the key has a charge: `transactionId`),
   * PROCESSING_ERROR (the bank didn't take it), and those of every call
   */
  async create(request: PixInRequest, options: CallOptions = {}): Promise<PixIn> {
    const { call, sent } = creation('/pix-in', request);
    const { amount, externalRef = null, idempotencyKey } = sent;
    const parts = {
      call,
      existing: ({ transactionId: id }: { transactionId: string }) => read('/pix-in', { id }),
      isSame: (made: PixIn) =>
        made.idempotencyKey === idempotencyKey && made.amount === amount && made.externalRef === externalRef,
    };
    return create(this.#connection, parts, options);
  }

  /** A charge; of several with one `externalRef` the newest. @throws PixstateError: TRANSACTION_NOT_FOUND */
  get({ id, externalRef }: PixInName, options: CallOptions = {}): Promise<PixIn> {
    const call = read('/pix-in', { id, externalRef });
    return this.#connection.json(call, this.#connection.patience(options));
  }

  /**
   * Cancels a charge that waits; one that is canceled already stays so, which makes it safe to send it again.
   *
   * @throws PixstateError: TRANSACTION_NOT_FOUND, MESSAGE_NOT_ACCEPTED (its `status` allows it no more),
   * PROCESSING_ERROR (the bank couldn't be asked, or hasn't said yet: cancel it again)
   */
  async cancel(id: string, request: CancelRequest = {}, options: CallOptions = {}): Promise<PixIn> {
    const path = `/pix-in/${pathPart(id)}/cancel`;
    const call = {
      method: 'POST',
      path,
      body: jsonOf(request),
      isRepeatable: true,
      mayFollow: true,
    } as const;
    return this.#connection.json(call, this.#connection.patience(options));
  }
}
