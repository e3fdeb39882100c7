/** Playing the bank, where the server's bank is the sandbox; elsewhere all of it is NOT_FOUND. */
import { pathPart } from './calls.ts';
import { type CallOptions, type Connection, jsonOf } from './connection.ts';
import type { Applied, SandboxMessage, SandboxPayment } from './types.ts';

export class SandboxEndpoints {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Pays a charge. @throws PixstateError: TRANSACTION_NOT_FOUND, MESSAGE_NOT_ACCEPTED, VALIDATION_ERROR */
  async pay(pixInId: string, payment: SandboxPayment = {}, options: CallOptions = {}): Promise<Applied> {
    const path = `/sandbox/pix-in/${pathPart(pixInId)}/pay`;
    const call = { method: 'POST', path, body: jsonOf(payment), isRepeatable: false } as const;
    return this.#connection.json(call, this.#connection.patience(options));
  }

  /**
   * Sends a transaction any message; with an `id` it is applied once, and so is sent again where no answer comes.
   *
   * @throws PixstateError: TRANSACTION_NOT_FOUND, MESSAGE_NOT_ACCEPTED, VALIDATION_ERROR
   */
  async send(transactionId: string, message: SandboxMessage, options: CallOptions = {}): Promise<Applied> {
    const path = `/sandbox/transactions/${pathPart(transactionId)}/messages`;
    const isRepeatable = (message.id ?? null) !== null;
    const call = { method: 'POST', path, body: jsonOf(message), isRepeatable } as const;
    return this.#connection.json(call, this.#connection.patience(options));
  }
}
