/**
 * Holds the journal against the bank's own books: nobody is credited what didn't come, nothing is ordered that the
 * journal doesn't name, and in the end money has moved once, on both sides the same.
 */
import { createHash } from 'node:crypto';
import type { Account } from '../../../src/domain/account.ts';
import type { AttentionItem } from '../../../src/engine/store.ts';
import type { FakePayment, FakeReturn } from '../../../test/support/bank/state.ts';
import { timelineOf } from '../auditor.ts';
import { must } from '../must.ts';
import type { Surroundings } from '../process.ts';
import { type Booked, bookedIn, type Saying } from './booked.ts';
import type { Counterparty } from './counterparty.ts';
import { cents, idOf, staysOf } from './truth.ts';

function bare(id: string): string {
  return id.replaceAll('-', '');
}

/** As the product makes them: of the end-to-end id, whole or by its hash. */
function hashOf(endToEndId: string): string {
  return createHash('sha256').update(endToEndId).digest('hex');
}

function isOurs({ id }: FakeReturn): boolean {
  return /^[0-9a-f]{32}$/.test(id) || /^gb[0-9a-f]{30}\d+$/.test(id);
}

interface Told {
  endToEndId?: string;
  amount?: number;
  refundId?: string;
  returnId?: string;
}

export class BankAuditor {
  readonly #around: Surroundings;
  readonly #bank: Counterparty;
  readonly #accounts: readonly Account[];

  constructor(around: Surroundings, bank: Counterparty, accounts: readonly Account[]) {
    this.#around = around;
    this.#bank = bank;
    this.#accounts = accounts;
  }

  /** What must be true at any time. */
  audit(): Map<string, Booked> {
    const { contradictions, front } = this.#bank;
    must(contradictions.length === 0, `one order was told twice: ${contradictions[0]}`);
    const [broken] = front.violations;
    must(broken === undefined, `a request broke the document: ${JSON.stringify(broken)}`);
    const all = this.#booked();
    for (const booked of all.values()) for (const said of booked.told) this.#judge(booked, said);
    this.#judgeOrders(all);
    return all;
  }

  /** What must be true once the bank has come to an end with everything, and nothing goes wrong any more. */
  auditEnd(): void {
    const all = this.audit();
    const { charges, sendings, payments } = this.#bank.state;
    for (const booked of all.values()) {
      const expected = booked.kind === 'pix-in' ? this.#cameIn(booked) : this.#wentOut(booked);
      must(
        booked.atBank === expected,
        `${booked.kind} ${booked.id} (${booked.status}): ${booked.atBank} cents are booked, ${expected} at the bank`,
      );
      if (booked.kind === 'pix-in') this.#judgeEnd(booked, charges.get(bare(booked.id))?.status);
    }
    for (const id of sendings.keys()) must(all.has(idOf(id)), `nobody ordered the transfer ${id}`);
    const items = this.#around.stored.listed({}, null);
    for (const payment of payments.values()) this.#judgePayment(payment, all, items);
    for (const { kind, id, what } of items) {
      must(kind !== 'stuck', `nothing is open, and ops are told: ${what}`);
      must(!id.startsWith('missing_'), `the bank lists it: ${what}`);
    }
    this.#judgeSum(all);
  }

  #booked(): Map<string, Booked> {
    const { stored } = this.#around;
    const { decidedAt } = timelineOf(this.#around);
    const journals = this.#accounts.flatMap(({ id }) => stored.journal(id, 1, Number.POSITIVE_INFINITY));
    return bookedIn(journals, decidedAt);
  }

  /** What was taken for the bank's word is the bank's. */
  #judge(booked: Booked, said: Saying): void {
    const { type } = said.entry.message;
    const what = `${type} on ${booked.kind} ${booked.id}`;
    if (booked.kind === 'cashout') this.#judgeOfSending(booked, said, what);
    else if (type === 'PAY') this.#judgeCredit(booked, said, what);
    else if (type === 'CANCEL' || type === 'REFUSE') {
      const status = this.#bank.state.charges.get(bare(booked.id))?.status ?? '';
      must(status.startsWith('REMOVIDA'), `${what}: the charge is ${status} at the bank`);
    } else this.#judgeReturn(said, what);
  }

  #judgeCredit(booked: Booked, { entry, at }: Saying, what: string): void {
    const { endToEndId = '', amount } = entry.message.data as Told;
    const payment = this.#bank.state.payments.get(endToEndId);
    must(payment !== undefined && payment.at <= at, `${what}: no payment ${endToEndId} has come`);
    must(payment.txid === bare(booked.id), `${what}: the payment is one of ${payment.txid}`);
    must(cents(payment.valor) === amount, `${what}: ${payment.valor} have come, not ${amount}`);
  }

  #judgeOfSending({ id, amount }: Booked, { entry }: Saying, what: string): void {
    const { type, data } = entry.message;
    const sending = this.#bank.state.sendings.get(bare(id));
    if (type === 'REJECT') {
      must(sending === undefined, `${what}: the bank has it`);
      return;
    }
    must(sending !== undefined, `${what}: the bank has never heard of it`);
    if (type === 'SETTLE') {
      must(sending.status === 'REALIZADO' && cents(sending.valor) === amount, `${what}: ${sending.status}`);
    } else if (type === 'FAIL') must(sending.status === 'NAO_REALIZADO', `${what}: ${sending.status}`);
    else if (type === 'RETURN') {
      const { returnId, amount: back } = data as Told;
      const made = sending.returns.find((each) => each.rtrId === returnId);
      must(made !== undefined && cents(made.valor) === back, `${what}: nothing came back`);
    } else must(type === 'START', `${what}: a real bank says no such thing`);
  }

  #judgeReturn({ entry }: Saying, what: string): void {
    const { type, id: messageId, data } = entry.message;
    const { refundId, amount } = data as Told;
    const [, endToEndId = '', id = ''] = messageId.split(':');
    const made = this.#bank.state.payments.get(endToEndId)?.returns.find((each) => each.id === id);
    if (type === 'REFUND_FAILED') {
      must(made === undefined || made.status === 'NAO_REALIZADO', `${what}: the bank says ${made?.status}`);
      return;
    }
    must(made?.status === 'DEVOLVIDO', `${what}: the bank says ${made?.status}`);
    if (type === 'REFUND_DONE') {
      must(id === bare(String(refundId)), `${what}: by the return ${id}`);
      return;
    }
    must(type === 'REFUND' || type === 'CHARGEBACK', `${what}: a real bank says no such thing`);
    must(!isOurs(made) && cents(made.valor) === amount, `${what}: it took ${made.valor}`);
    must(made.natureza.startsWith('MED_') === (type === 'CHARGEBACK'), `${what}: it is ${made.natureza}`);
  }

  /** The journal says so first: then the bank is told. */
  #judgeOrders(all: ReadonlyMap<string, Booked>): void {
    const { sendings, payments } = this.#bank.state;
    for (const { id, at } of sendings.values()) {
      const begun = all.get(idOf(id))?.submittedAt ?? Number.POSITIVE_INFINITY;
      must(begun <= at, `the transfer ${id} was ordered before the journal said so`);
    }
    for (const { endToEndId, txid, returns } of payments.values())
      for (const each of returns.filter(isOurs)) {
        const charge = all.get(idOf(txid ?? ''));
        // By its charge: ops may give refunds of two charges the same id.
        const refund = charge?.refunds.get(idOf(each.id));
        const begun = refund?.at ?? charge?.givenBack.get(endToEndId) ?? Number.POSITIVE_INFINITY;
        must(begun <= each.at, `the return ${each.id} was ordered before the journal said so`);
        must(refund === undefined || refund.amount === cents(each.valor), `${each.id} returns ${each.valor}`);
      }
  }

  #creditedBy({ told }: Booked): string[] {
    const paid = told.filter(({ entry }) => entry.message.type === 'PAY');
    return paid.map(({ entry }) => String((entry.message.data as Told).endToEndId));
  }

  /** What the bank keeps of the payments that the charge was credited with. */
  #cameIn(booked: Booked): number {
    const { payments } = this.#bank.state;
    const credited = this.#creditedBy(booked).map((id) => payments.get(id));
    return credited.reduce((sum, payment) => sum + (payment === undefined ? 0 : staysOf(payment)), 0);
  }

  #wentOut({ id, status }: Booked): number {
    const sending = this.#bank.state.sendings.get(bare(id));
    const isPaid = sending?.status === 'REALIZADO';
    must(isPaid === (status === 'completed'), `cashout ${id} is ${status}, at the bank ${sending?.status}`);
    return isPaid ? -staysOf(sending) : 0;
  }

  /** Nobody can pay what is canceled here, and what was made here can be found there. */
  #judgeEnd({ id, status }: Booked, there: string | undefined): void {
    must(there !== undefined, `the bank has never heard of charge ${id}`);
    // One that was paid wrongly can't be removed there, nor be paid by anybody else.
    must(status !== 'canceled' || there !== 'ATIVA', `charge ${id} is canceled, and can be paid at the bank`);
    must(status !== 'refused' || there === 'REMOVIDA_PELO_PSP', `charge ${id} is refused, there ${there}`);
  }

  /** Each payment is credited once, or given back whole; or a person knows of it. */
  #judgePayment(
    payment: FakePayment,
    all: ReadonlyMap<string, Booked>,
    items: readonly AttentionItem[],
  ): void {
    const { endToEndId, txid, returns } = payment;
    const told = (kind: string, id: string): boolean =>
      items.some((item) => item.kind === kind && item.id === id);
    const credits = [...all.values()].filter((each) => this.#creditedBy(each).includes(endToEndId));
    must(credits.length <= 1, `${endToEndId} was credited ${credits.length} times`);
    for (const { id, status } of returns)
      must(status !== 'EM_PROCESSAMENTO', `the return ${id} never came to an end`);
    if (credits.length === 1) return;
    if (!all.has(idOf(txid ?? ''))) {
      must(told('payment', endToEndId), `nobody was told of the payment ${endToEndId}`);
      must(!returns.some(isOurs), `${endToEndId} was none of ours, and was given back`);
      return;
    }
    const failure = `returned_${hashOf(endToEndId).slice(0, 24)}_`;
    const failed = items.some(({ kind, id }) => kind === 'return' && id.startsWith(failure));
    const isBack = returns.some((each) => isOurs(each) && each.status === 'DEVOLVIDO');
    // The bank may have taken all of it itself: whoever heard of a failure before has told of it, and nobody else does.
    if (!isBack && staysOf(payment) === 0) return;
    must(
      isBack !== failed,
      `${endToEndId} was ${isBack ? '' : 'not '}given back, and ops were told otherwise`,
    );
    must(!isBack || staysOf(payment) === 0, `${staysOf(payment)} cents of ${endToEndId} are nobody's`);
  }

  /** The journal's leg is the bank's own sum: of all that is credited, without what ops put right. */
  #judgeSum(all: ReadonlyMap<string, Booked>): void {
    const { stored } = this.#around;
    const booked = [...all.values()].reduce((sum, { atBank }) => sum + atBank, 0);
    let legs = 0;
    let adjusted = 0;
    for (const { id } of this.#accounts) {
      legs -= stored.head(id).balances.bank;
      for (const { entries } of stored.journal(id, 1, Number.POSITIVE_INFINITY))
        for (const { transaction, message } of entries)
          if (transaction === null && message.type === 'ADJUST')
            adjusted += (message.data as { amount: number }).amount;
    }
    must(legs === booked + adjusted, `the leg is ${legs}, the bank's list comes to ${booked + adjusted}`);
  }
}
