/** What parts of a transaction do to it (additions, "Money, in cents"), written once more: it calls nothing of the engine. */
import type { Entry } from '../../src/engine/journal.ts';

interface Refund {
  amount: number;
  /** The bank's id of the return; null: nobody has told it. */
  returnId: string | null;
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
  returnId?: string;
}

/** Before a refund's id, as a charge names it. */
const REFUND = 'refund:';
const PART_MESSAGES = new Set([
  ...['REFUND_ORDER', 'REFUND_DONE', 'REFUND_FAILED'],
  ...['REFUND', 'CHARGEBACK', 'RETURN'],
]);

/** Whether an entry is about a part of its transaction, and more than a word of what has ended: each has an event. */
export function isOfPart({ message, refusal, events }: Entry): boolean {
  return refusal === null && events.length > 0 && PART_MESSAGES.has(message.type);
}

export class Parts {
  readonly #amount: number;
  readonly #totalFee: number;
  readonly #refunds = new Map<string, Refund>();
  /** The bank's ids of what it took back, or did a refund by. */
  readonly #returnIds = new Set<string>();
  /** Those that the bank told of once more. */
  readonly #toldAgain = new Set<string>();
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

  /** Whether that return of the bank's counts already. */
  hasCounted(returnId: unknown): boolean {
    return typeof returnId === 'string' && this.#returnIds.has(returnId);
  }

  /** What the bank has done once counts once. */
  #counts(returnId: string | undefined): void {
    if (returnId === undefined) return;
    if (this.#returnIds.has(returnId)) throw new Error(`the return ${returnId} counts twice`);
    this.#returnIds.add(returnId);
  }

  /** Whether an entry brings nothing but a word of what counts already: once for each return, or a refund's missing id. */
  learns({ message: { type, data } }: Entry): boolean {
    const { refundId, returnId } = data as PartData;
    if (returnId === undefined) return false;
    if (type === 'REFUND' || type === 'CHARGEBACK') {
      const isNews = this.hasCounted(returnId) && !this.#toldAgain.has(returnId);
      this.#toldAgain.add(returnId);
      return isNews;
    }
    const refund = this.#refunds.get(refundId);
    if (refund?.returnId !== null || !this.hasEnded(refundId, type)) return false;
    if (type === 'REFUND_DONE') this.#counts(returnId);
    refund.returnId = returnId;
    return true;
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
        return this.#ended(data, message.type === 'REFUND_DONE', status);
      case 'RETURN':
        return this.#cameBack(data.amount ?? 0, status);
      default:
        this.#noteOfBank(snapshot, data.returnId);
        this.#counts(data.returnId);
        return this.#taken(message.type, data.amount ?? this.#stands, status);
    }
  }

  /** Refunds that the bank made by itself are done from their beginning. */
  #noteOfBank(snapshot: Entry['snapshot'], returnId: string | undefined): void {
    for (const name of Object.keys(snapshot?.context ?? {})) {
      const id = name.slice(REFUND.length);
      if (name.startsWith(REFUND) && !this.#refunds.has(id))
        this.#refunds.set(id, { amount: 0, returnId: returnId ?? null, returned: 0, status: 'completed' });
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
    this.#refunds.set(refundId, { amount, returnId: null, returned, status: 'pending' });
    return { moved: returned - amount, status, events: ['refund.pending'] };
  }

  #ended({ refundId: id, returnId }: PartData, isDone: boolean, status: string): Expected {
    const refund = this.#refunds.get(id);
    if (refund?.status !== 'pending') throw new Error(`the refund ${id} ended without being pending`);
    const { amount, returned } = refund;
    refund.status = isDone ? 'completed' : 'failed';
    refund.returnId = returnId ?? null;
    if (isDone) this.#counts(returnId);
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
