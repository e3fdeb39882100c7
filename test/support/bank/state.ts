/** What the fake bank keeps. Money is text, as banks tell of it; times are ms. */
import type { Fields } from './requests.ts';

export interface FakeReturn {
  id: string;
  rtrId: string;
  valor: string;
  natureza: string;
  status: 'EM_PROCESSAMENTO' | 'DEVOLVIDO' | 'NAO_REALIZADO';
  motivo?: string;
  at: number;
  /** When it was settled; absent where the bank says no such time. */
  settledAt?: number;
  /** Until then questions about it don't find it. */
  hiddenUntil?: number;
}

export interface FakePayment {
  endToEndId: string;
  txid: string | null;
  valor: string;
  chave: string;
  at: number;
  returns: FakeReturn[];
}

export interface FakeCharge {
  txid: string;
  /** The request that made it. */
  body: Fields;
  status: string;
  revisao: number;
  at: number;
  location: string;
  /** Until then questions don't find it. */
  hiddenUntil: number;
}

export interface FakeSending {
  id: string;
  bankId: string;
  endToEndId: string;
  valor: string;
  to: string;
  raw: string;
  status: string;
  at: number;
  settledAt: number | null;
  hiddenUntil: number;
  returns: FakeReturn[];
}

function stamp(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace(/\D/g, '');
}

/** Counts so that ids of a test are the same whenever it runs. */
export class BankState {
  readonly charges = new Map<string, FakeCharge>();
  readonly payments = new Map<string, FakePayment>();
  readonly sendings = new Map<string, FakeSending>();
  readonly webhooks = new Map<string, string>();
  /** Payments of a txid; those that were taken out of `payments` count no more. */
  readonly #byTxid = new Map<string, FakePayment[]>();
  #made = 0;

  /** An id of 32 characters, as end-to-end ids (E) and returns (D) have. */
  id(letter: 'E' | 'D', at: number): string {
    this.#made += 1;
    return `${letter}00000000${stamp(at)}${String(this.#made).padStart(11, '0')}`;
  }

  /** Somebody pays, a charge or just so. */
  pay(
    payment: { txid?: string; amount: string; key: string; at?: number; endToEndId?: string },
    now = Date.now(),
  ): FakePayment {
    const at = payment.at ?? now;
    const endToEndId = payment.endToEndId ?? this.id('E', at);
    const { txid = null, amount: valor, key: chave } = payment;
    const made: FakePayment = { endToEndId, txid, valor, chave, at, returns: [] };
    this.payments.set(endToEndId, made);
    this.#keep(made);
    const charge = this.charges.get(txid ?? '');
    if (charge?.status === 'ATIVA') charge.status = 'CONCLUIDA';
    return made;
  }

  paymentsOf(txid: string): FakePayment[] {
    const all = this.#byTxid.get(txid) ?? [];
    return all.filter((each) => each.txid === txid && this.payments.get(each.endToEndId) === each);
  }

  /** The payment bears another txid from now on. */
  rename(payment: FakePayment, txid: string): void {
    payment.txid = txid;
    this.#keep(payment);
  }

  #keep(payment: FakePayment): void {
    if (payment.txid === null) return;
    const all = this.#byTxid.get(payment.txid);
    if (all === undefined) this.#byTxid.set(payment.txid, [payment]);
    else all.push(payment);
  }
}

export function shownReturn({ at, settledAt, motivo, hiddenUntil: _, ...rest }: FakeReturn): Fields {
  const settled = settledAt === undefined ? {} : { liquidacao: new Date(settledAt).toISOString() };
  const horario = { solicitacao: new Date(at).toISOString(), ...settled };
  return { ...rest, horario, ...(motivo === undefined ? {} : { motivo }) };
}

export function shownPayment({ at, returns, txid, ...rest }: FakePayment): Fields {
  return {
    ...rest,
    ...(txid === null ? {} : { txid }),
    horario: new Date(at).toISOString(),
    ...(returns.length === 0 ? {} : { devolucoes: returns.map(shownReturn) }),
  };
}
