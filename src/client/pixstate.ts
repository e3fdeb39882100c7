/**
 * `pixstate/client`: the API for a merchant's application. Amounts are whole cents, times are ISO 8601 in UTC.
 *
 * A call ends with its result, a `PixstateError`, or its signal's reason. What only reads is sent again where no answer
 * comes or the server can't answer just now, and so is what a key makes safe; anything else is sent once.
 */
import { read } from './calls.ts';
import { CashoutEndpoint, type CashoutName } from './cashout.ts';
import { type CallOptions, Connection, type PixstateOptions } from './connection.ts';
import { type ErrorCode, PixstateError } from './errors.ts';
import { PixInEndpoint, type PixInName } from './pix-in.ts';
import { type RefundName, RefundsEndpoint } from './refunds.ts';
import { SandboxEndpoints } from './sandbox.ts';
import {
  type StatementCsv,
  StatementEndpoint,
  type StatementQuery,
  type StatementWindow,
} from './statement.ts';
import type { Balance, DeliveryList } from './types.ts';
import { verifyWebhook, type WebhookBody, type WebhookHeaders, WebhookRejected } from './webhook.ts';

export class Pixstate {
  /** Charges. */
  readonly pixIn: PixInEndpoint;
  /** Refunds of charges. */
  readonly refunds: RefundsEndpoint;
  /** Transfers. */
  readonly cashout: CashoutEndpoint;
  /** What changed the balance. */
  readonly statement: StatementEndpoint;
  /** Playing the bank, where the server's bank is the sandbox. */
  readonly sandbox: SandboxEndpoints;
  readonly #connection: Connection;

  /** Connects to nothing yet. @throws TypeError for options that can't be right */
  constructor(options: PixstateOptions) {
    this.#connection = new Connection(options);
    this.pixIn = new PixInEndpoint(this.#connection);
    this.refunds = new RefundsEndpoint(this.#connection);
    this.cashout = new CashoutEndpoint(this.#connection);
    this.statement = new StatementEndpoint(this.#connection);
    this.sandbox = new SandboxEndpoints(this.#connection);
  }

  /** What is available. @throws PixstateError */
  balance(options: CallOptions = {}): Promise<Balance> {
    return this.#connection.json(read('/balance'), this.#connection.patience(options));
  }

  /**
   * The newest 100 webhook deliveries of a charge or transfer, with their attempts, newest first.
   *
   * @throws PixstateError: TRANSACTION_NOT_FOUND
   */
  webhooks(transactionId: string, options: CallOptions = {}): Promise<DeliveryList> {
    return this.#connection.json(read('/webhooks', { transactionId }), this.#connection.patience(options));
  }
}

export type * from './types.ts';
export type {
  CallOptions,
  CashoutName,
  ErrorCode,
  PixInName,
  PixstateOptions,
  RefundName,
  StatementCsv,
  StatementQuery,
  StatementWindow,
  WebhookBody,
  WebhookHeaders,
};
export { PixstateError, verifyWebhook, WebhookRejected };
