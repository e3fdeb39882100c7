/** What parts of a transaction do to it (additions, "Money, in cents"), written once more: it calls nothing of the engine. */
import type { Entry } from '../../src/engine/journal.ts';

interface Refund {
  amount: number;
  returned: number;
  status: 'pending' | 'completed' | 'failed';
}

/** What an entry about a part must have done. */
export interface Expected {
  /** Cents that the balance changes by. */
  moved: number;
  /** The state after it. */
  status: string;
  events: string[];
}

interface PartData {
  refundId: string;
  amount?: number;
  returned?: number;
}

/** Before a refund's id, as a charge names it. */
const REFUND = 'refund:';
const PART_MESSAGES = new Set([
  ...['REFUND_ORDER', 'REFUND_DONE', 'REFUND_FAILED'],
  ...['REFUND', 'CHARGEBACK', 'RETURN'],
]);

/** Whether an entry is about a part of its transaction. */
export function isOfPart({ message, refusal }: Entry): boolean {
  return refusal === null && PART_MESSAGES.has(message.type);
}

export class Parts {
  readonly #amount: number;
  readonly #totalFee: number;
  readonly #refunds = new Map<string, Refund>();
  #refunded = 0;
  #chargedback = 0;
  /** Fee that went back so far. */
  #fee = 0;
  /** What came back of a cashout. */
  #returned = 0;

  constructor(amount: number, totalFee: number) {
    this.#amount = amount;
    this.#totalFee = totalFee;
  }

  /** Refunds that wait for their outcome. */
  get pending(): { id: string; amount: number }[] {
    const all = [...this.#refunds].map(([id, { amount, status }]) => ({ id, amount, status }));
    return all.filter(({ status }) => status === 'pending');
  }

  /** Whether that refund has ended so. */
  hasEnded(id: string, type: string): boolean {
    return this.#refunds.get(id)?.status === (type === 'REFUND_DONE' ? 'completed' : 'failed');
  }

  get #stands(): number {
    return Math.max(0, this.#amount - this.#refunded - this.#chargedback);
  }

  get #pending(): number {
    return this.pending.reduce((sum, { amount }) => sum + amount, 0);
  }

  #share(part: number): number {
    const sum = Math.min(this.#amount, this.#refunded + this.#chargedback + this.#pending + part);
    const due = Math.floor((this.#totalFee * sum) / this.#amount + 0.5);
    return Math.max(0, due - this.#fee);
  }

  /** The fee that the last entry brings. */
  #last(): number {
    if (this.#stands > 0 || this.#pending > 0) return 0;
    const missing = this.#totalFee - this.#fee;
    this.#fee = this.#totalFee;
    return missing;
  }

  /** Takes an entry; throws where no such thing may happen. */
  take({ message, from, snapshot }: Entry): Expected {
    const data = message.data as PartData;
    const status = String(from);
    switch (message.type) {
      case 'REFUND_ORDER':
        return this.#ordered(data, status);
      case 'REFUND_DONE':
      case 'REFUND_FAILED':
        return this.#ended(data.refundId, message.type === 'REFUND_DONE', status);
      case 'RETURN':
        return this.#cameBack(data.amount ?? 0, status);
      default:
        this.#noteOfBank(snapshot);
        return this.#taken(message.type, data.amount ?? this.#stands, status);
    }
  }

  /** Refunds that the bank made by itself are done from their beginning. */
  #noteOfBank(snapshot: Entry['snapshot']): void {
    for (const name of Object.keys(snapshot?.context ?? {})) {
      const id = name.slice(REFUND.length);
      if (name.startsWith(REFUND) && !this.#refunds.has(id))
        this.#refunds.set(id, { amount: 0, returned: 0, status: 'completed' });
    }
  }

  #ordered({ refundId, amount = 0, returned = 0 }: PartData, status: string): Expected {
    if (status !== 'paid') throw new Error(`a charge that is ${status} was refunded`);
    const left = this.#stands - this.#pending;
    if (amount < 1 || amount > left) throw new Error(`${amount} cents were refunded of ${left}`);
    if (this.#refunds.has(refundId)) throw new Error(`the refund ${refundId} was ordered twice`);
    if (returned !== this.#share(amount))
      throw new Error(`the refund ${refundId} brings ${returned} of the fee`);
    this.#fee += returned;
    this.#refunds.set(refundId, { amount, returned, status: 'pending' });
    return { moved: returned - amount, status, events: ['refund.pending'] };
  }

  #ended(id: string, isDone: boolean, status: string): Expected {
    const refund = this.#refunds.get(id);
    if (refund?.status !== 'pending') throw new Error(`the refund ${id} ended without being pending`);
    const { amount, returned } = refund;
    refund.status = isDone ? 'completed' : 'failed';
    if (!isDone) {
      this.#fee -= returned;
      return { moved: amount - returned + this.#last(), status, events: ['refund.failed'] };
    }
    const stood = this.#stands;
    this.#refunded += amount;
    const isLast = stood > 0 && this.#stands === 0;
    const events = isLast ? ['refund.completed', 'pix-in.refunded'] : ['refund.completed'];
    return { moved: this.#last(), status: isLast ? 'refunded' : status, events };
  }

  #taken(type: string, part: number, status: string): Expected {
    const stood = this.#stands;
    if (part < 1 || part > stood) throw new Error(`${type} took ${part} cents of ${stood}`);
    const share = this.#share(part);
    this.#fee += share;
    if (type === 'REFUND') this.#refunded += part;
    else this.#chargedback += part;
    const end = type === 'REFUND' ? 'refunded' : 'chargedback';
    const booked = type === 'REFUND' ? 'refund.completed' : 'chargeback.booked';
    const isLast = this.#stands === 0;
    const events = part === this.#amount ? [] : [booked];
    if (isLast) events.push(`pix-in.${end}`);
    return { moved: share + this.#last() - part, status: isLast ? end : status, events };
  }

  #cameBack(amount: number, status: string): Expected {
    this.#returned += amount;
    if (status !== 'completed' || this.#returned > this.#amount)
      throw new Error(`${amount} cents came back of a cashout that is ${status}`);
    return { moved: amount, status, events: ['return.booked'] };
  }
}
