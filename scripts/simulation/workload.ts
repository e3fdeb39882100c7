/** What clients and the bank do: creations, keys and ids that come again, messages in and out of order. */
import { CallFailed } from '../../src/bank/api-pix/wire/outcome.ts';
import { composeEndToEndId } from '../../src/domain/end-to-end-id.ts';
import { CASHOUT_TYPES, PIX_IN_TYPES } from '../../src/domain/messages.ts';
import { refundsOf } from '../../src/domain/reversals/sums.ts';
import { Overloaded } from '../../src/engine/actors/host.ts';
import { BankRefused } from '../../src/engine/bank.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { StoreUnavailable } from '../../src/engine/store.ts';
import type { AccountSurroundings } from './auditor.ts';
import type { Did, Operation, Request, Result } from './operations.ts';
import { actOf, BY, nextAct } from './ops.ts';
import type { Process } from './process.ts';

const IDS = ['m1', 'm2', 'm3', 'm4', 'm5', 'constructor', '__proto__', 'toString', null];
const KEYS = ['k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'constructor', '__proto__'];
/** Seconds; null: as long as any. Those of a minute expire while payments of them are on their way. */
const LIVES = [null, null, 300, 60, 61, 90];
const TOGETHER = 24;
const PAYEE = 'someone@example.com';
/** A key that the real bank knows nobody by. */
const NOBODY = 'ninguem@example.com';
/** How often each thing is asked for. What the bank says, only the sandbox lets others say. */
const WITH_SANDBOX = {
  charge: 20,
  transfer: 25,
  message: 60,
  adjust: 5,
  act: 2,
  refund: 12,
  cancel: 2,
  ops: 6,
  again: 0,
};
const WITH_REAL_BANK = {
  charge: 30,
  transfer: 25,
  message: 4,
  adjust: 5,
  act: 2,
  refund: 20,
  cancel: 5,
  ops: 6,
  again: 3,
};

/** Messages that may bear the bank's id of what goes back of a charge. */
const GOES_BACK: ReadonlySet<string> = new Set(['REFUND', 'CHARGEBACK', 'REFUND_DONE', 'REFUND_FAILED']);

/** A UUID v4 of a number. */
function opsRefundId(n: number): string {
  return `22222222-2222-4222-8222-${String(n).padStart(12, '0')}`;
}

export class Workload {
  readonly operations: Operation[] = [];
  /** What nobody may be told: an error that is none of the documented ones. */
  failure: unknown = null;
  readonly #around: AccountSurroundings;
  readonly #transactions: { id: string; type: 'pix-in' | 'cashout'; amount: number }[] = [];
  #payments = 0;

  constructor(around: AccountSurroundings) {
    this.#around = around;
  }

  /** Operations whose result nobody knows yet. */
  get pending(): Operation[] {
    return this.operations.filter(({ result }) => result === null);
  }

  /** Asks a process for something, unless too much is asked already. */
  ask(process: Process): void {
    const open = this.pending;
    if (open.length >= TOGETHER) return;
    const request = this.#again() ?? this.#request();
    if (request === null) return;
    const seqBefore = this.#seq();
    const operation: Operation = {
      number: this.operations.length,
      process: process.name,
      request,
      seqBefore,
      seqAfter: seqBefore,
      result: null,
    };
    this.operations.push(operation);
    void this.#perform(process, request).then(
      (result) => {
        if (operation.result === null) this.#settle(operation, result);
      },
      (error: unknown) => {
        this.failure ??= error;
      },
    );
  }

  /** A process died: what it was asked may or may not have happened. */
  orphan(name: string): void {
    for (const operation of this.pending) {
      if (operation.process === name) this.#settle(operation, { kind: 'unknown' });
    }
  }

  #seq(): number {
    const { stored, account } = this.#around;
    return stored.head(account.id).seq;
  }

  #settle(operation: Operation, result: Result): void {
    operation.result = result;
    operation.seqAfter = this.#seq();
    if (result.kind !== 'answered' || result.answer.kind !== 'applied') return;
    const { id, type, snapshot } = result.answer.record;
    const isNew = operation.request.kind === 'charge' || operation.request.kind === 'transfer';
    const { amount } = snapshot.context as { amount: number };
    if (isNew) this.#transactions.push({ id, type, amount });
  }

  /** What was asked before, word for word: a client that got no answer, or one that doesn't believe it. */
  #again(): Request | null {
    const { random } = this.#around.world;
    if (!random.perMille(200) || this.operations.length === 0) return null;
    const { request } = random.pick(this.operations.slice(-60));
    const tag = `op-${this.operations.length}`;
    return request.kind === 'charge' || request.kind === 'transfer' ? { ...request, tag } : request;
  }

  #request(): Request | null {
    const { random } = this.#around.world;
    const tag = `op-${this.operations.length}`;
    const isReal = this.#around.counterparty !== null;
    const kind = random.weighted(isReal ? WITH_REAL_BANK : WITH_SANDBOX);
    switch (kind) {
      case 'charge':
        return {
          kind,
          tag,
          amount: 100 + random.int(20_000),
          expiresIn: random.pick(LIVES),
          key: random.perMille(300) ? this.#key() : null,
        };
      case 'transfer':
        return {
          kind,
          tag,
          amount: 1 + random.int(12_000),
          key: random.perMille(700) ? this.#key() : null,
          to: isReal && random.perMille(80) ? NOBODY : PAYEE,
        };
      case 'adjust':
        return {
          kind,
          id: `a${random.int(40)}`,
          amount: random.int(12_000) - 4_000,
          allowNegative: random.perMille(100),
        };
      case 'act':
        return { kind, id: `o${random.int(40)}`, asked: random.int(2) };
      case 'refund':
      case 'cancel':
        return this.#order(kind);
      case 'message':
        if (this.#transactions.length === 0) return null;
        return isReal ? this.#decision() : this.#message();
      case 'ops':
        return nextAct(this.#around, this.#around.account.id, `s${this.operations.length}`);
      case 'again':
        return this.#returnAgain();
    }
  }

  /** Ops decide on a protest against a charge, whatever its state. */
  #decision(): Request | null {
    const { random } = this.#around.world;
    const charges = this.#transactions.filter(({ type }) => type === 'pix-in').slice(-40);
    const meant = charges.filter(({ id }) => this.#isPaid(id) || this.#isProtested(id));
    if (meant.length === 0) return null;
    const { id: transaction } = random.pick(meant);
    const type = random.pick(
      this.#isProtested(transaction) ? ['DISMISS', 'DISMISS', 'PROTEST'] : ['PROTEST'],
    );
    return { kind: 'message', transaction, id: null, type, data: {}, door: 'ops' };
  }

  /** One of the payments whose return has failed goes back once more. */
  #returnAgain(): Request | null {
    const { world, stored, account } = this.#around;
    const failed = stored
      .listed({ account: account.id, kind: 'return' }, null)
      .filter(({ code }) => code === 'RETURN_FAILED');
    if (failed.length === 0) return null;
    const { about, data } = world.random.pick(failed);
    const { endToEndId = '' } = (data ?? {}) as { endToEndId?: string };
    return { kind: 'returnAgain', transaction: about.transaction ?? '', endToEndId };
  }

  /** What a merchant orders of one of his charges, or of what is none. */
  #order(kind: 'refund' | 'cancel'): Request | null {
    const { random } = this.#around.world;
    if (this.#transactions.length === 0) return null;
    const recent = this.#transactions.slice(-25);
    const paid = recent.filter(({ id }) => this.#isPaid(id));
    const isOfPaid = kind === 'refund' && paid.length > 0 && random.perMille(700);
    // One of them is refunded again and again.
    const meant = isOfPaid && random.perMille(400) ? paid.slice(0, 1) : paid;
    const { id: transaction, amount } = random.pick(isOfPaid ? meant : recent);
    if (kind === 'cancel')
      return { kind, transaction, ops: random.perMille(300) ? `c${this.operations.length}` : null };
    const part = 1 + random.int(random.pick([amount, Math.ceil(amount / 10)]));
    const order = { kind, transaction, amount: random.perMille(200) ? null : part } as const;
    // Ids of refunds that ops order are few, so that some are used once more.
    if (random.perMille(200)) return { ...order, key: null, ops: opsRefundId(random.int(60)) };
    return { ...order, key: random.perMille(400) ? this.#key() : null, ops: null };
  }

  #key(): string {
    const { random } = this.#around.world;
    return random.pick(KEYS) + random.int(8);
  }

  #isPaid(id: string): boolean {
    return this.#around.stored.transaction(id)?.snapshot.value === 'paid';
  }

  #isProtested(id: string): boolean {
    return this.#around.stored.transaction(id)?.snapshot.value === 'in_protest';
  }

  #refundOf(transaction: string): string | null {
    const record = this.#around.stored.transaction(transaction);
    const refunds = record?.type === 'pix-in' ? refundsOf(record.snapshot.context) : [];
    return refunds.length === 0 ? null : this.#around.world.random.pick(refunds).id;
  }

  #message(): Request {
    const { random } = this.#around.world;
    const { id: transaction, type: kind, amount } = random.pick(this.#transactions.slice(-25));
    const types: readonly string[] =
      kind === 'pix-in' ? [...PIX_IN_TYPES, 'PAY', 'PAY', 'PAY', 'HOLD'] : CASHOUT_TYPES;
    const type = random.perMille(20) ? 'NONSENSE' : random.pick(types);
    const data: Record<string, unknown> = {};
    if (type === 'PAY' || type === 'HOLD') {
      data.endToEndId = this.#endToEndId();
      data.paidAt = new Date(this.#around.world.now).toISOString();
      data.amount = random.perMille(100) ? amount + 1 : amount;
    } else if (kind === 'cashout' && type !== 'RETURN' && random.perMille(800)) {
      data.endToEndId = this.#endToEndId();
      if (type === 'SETTLE') data.paidAt = new Date(this.#around.world.now).toISOString();
    } else if ((type === 'REFUND' || type === 'CHARGEBACK') && random.perMille(600)) {
      data.amount = random.pick([amount, 1, 1 + random.int(amount), 1 + random.int(Math.ceil(amount / 5))]);
    } else if (type === 'REFUND_DONE' || type === 'REFUND_FAILED') {
      data.refundId = this.#refundOf(transaction) ?? transaction;
    } else if (type === 'RETURN') {
      data.returnId = `D${random.int(30)}`;
      data.amount = 1 + random.int(amount);
    }
    // Few enough that one return is told of as this and as that.
    if (GOES_BACK.has(type) && random.perMille(500)) data.returnId = `D${random.int(4)}`;
    if (random.perMille(100)) data.unknown = { constructor: random.int(3) };
    return {
      kind: 'message',
      transaction,
      id: random.pick(IDS),
      type,
      data,
      door: random.pick(['bank', 'sandbox', 'ops']),
    };
  }

  /** Mostly a new one; now and then one that was told before, perhaps of another charge. */
  #endToEndId(): string {
    const { random, now } = this.#around.world;
    if (random.perMille(750)) this.#payments += 1;
    const n = random.perMille(700) ? this.#payments : random.int(this.#payments + 1);
    return composeEndToEndId('11111111', now - (now % 86_400_000), String(n).padStart(11, '0'));
  }

  async #perform(process: Process, request: Request): Promise<Result> {
    try {
      return await this.#call(process, request);
    } catch (error) {
      if (error instanceof BankRefused || error instanceof CallFailed) return { kind: 'bankRefused' };
      // A mailbox that gave up after too many stale tries decided nothing that was kept.
      if (error instanceof Overloaded) return { kind: 'overloaded' };
      if (error instanceof StoreUnavailable) return { kind: 'unknown' };
      throw error;
    }
  }

  /** As `bank return` does it. */
  async #callReturnAgain(
    process: Process,
    { transaction, endToEndId }: Request & { kind: 'returnAgain' },
  ): Promise<Did> {
    const record = await process.store.journal.transaction(transaction);
    if (record === null) throw new Error(`a transaction that was answered is gone: ${transaction}`);
    const next = await process.nextReturn(record, endToEndId);
    if (next === null) return 'nothing';
    await process.engine.send(record.account, { kind: 'returnAgain', transaction, ...next });
    return 'done';
  }

  async #call(process: Process, request: Request): Promise<Result> {
    const { id } = this.#around.account;
    const account = (await process.directory.account(id)) ?? this.#around.account;
    const rest = { description: null, metadata: {} };
    switch (request.kind) {
      case 'ops':
        return { kind: 'did', did: await actOf(process, id, request) };
      case 'returnAgain':
        return { kind: 'did', did: await this.#callReturnAgain(process, request) };
      case 'charge': {
        const { amount, expiresIn, key: idempotencyKey, tag: externalRef } = request;
        const about = { externalRef, additionalInfo: null, customer: null, ...rest };
        const charge = { amount, expiresIn, idempotencyKey, ...about };
        return { kind: 'answered', answer: await process.payments.createCharge(account, charge, {}) };
      }
      case 'transfer': {
        const { amount, key: idempotencyKey, tag: externalRef, to } = request;
        const key = { pixKeyType: 'EMAIL', pixKey: to } as const;
        const transfer = { amount, idempotencyKey, externalRef, ...key, ...rest };
        return { kind: 'answered', answer: await process.payments.createTransfer(account, transfer, {}) };
      }
      case 'refund': {
        const { transaction, amount, key: idempotencyKey, ops } = request;
        const by = ops === null ? {} : { ops: { id: ops, by: BY } };
        const refund = { transaction, amount, idempotencyKey, reason: null, ...by };
        return { kind: 'answered', answer: (await process.payments.refund(account, refund, {})).answer };
      }
      case 'cancel': {
        const { transaction, ops } = request;
        const by = ops === null ? {} : { ops: { id: ops, by: BY, record: async () => {} } };
        const canceled = await process.payments.cancel(account, { transaction, reason: null, ...by }, {});
        return { kind: 'answered', answer: canceled };
      }
      case 'adjust': {
        const { id: adjustment, amount, allowNegative } = request;
        const given = { id: adjustment, amount, allowNegative, reason: 'simulated' };
        return { kind: 'answered', answer: await adjust(process.engine, account.id, given) };
      }
      case 'act': {
        const { id: action, asked } = request;
        const act = {
          kind: 'act',
          id: action,
          action: 'retry',
          data: { asked },
          digest: `d${asked}`,
          by: BY,
        } as const;
        return { kind: 'answered', answer: await process.engine.send(account.id, act) };
      }
      case 'message': {
        const { transaction, id: messageId, type, data, door } = request;
        const record = await process.store.journal.transaction(transaction);
        if (record === null) throw new Error(`a transaction that was answered is gone: ${transaction}`);
        const answer = await process.payments.tell(record, { id: messageId, type, data }, door);
        return answer.kind === 'malformed' ? { kind: 'malformed' } : { kind: 'answered', answer };
      }
    }
  }
}
