/**
 * What happens at the bank without us: payers pay, whole or wrong, twice, late, or what is none of ours; transfers and
 * returns come to their ends; money is taken back; charges are removed. It calls back about some of it: callbacks get
 * lost, come twice, and are forged.
 */

import {
  type FakeCharge,
  type FakePayment,
  type FakeReturn,
  type FakeSending,
  shownPayment,
} from '../../../test/support/bank/state.ts';
import type { Stored } from '../stored.ts';
import type { World } from '../world.ts';
import type { Counterparty } from './counterparty.ts';
import { KEY } from './keys.ts';
import { cents, idOf, leftOf, reais } from './truth.ts';

export interface HappeningsOptions {
  world: World;
  bank: Counterparty;
  stored: Stored;
  /** A callback of the bank's, to whichever process answers; rejects where none has kept it. */
  callBack(body: string): Promise<void>;
}

const CHANCES = {
  ...{ pay: 30, payAgain: 3, foreign: 3, goOn: 30, takeBack: 8, comeBack: 3, remove: 2 },
  ...{ killTokens: 2, goAway: 2, forge: 6 },
};
const RECENT = 25;
const CALL_AGAIN_MS = 60_000;
const CALLS = 3;

export class Happenings {
  readonly #options: HappeningsOptions;

  constructor(options: HappeningsOptions) {
    this.#options = options;
  }

  happen(): void {
    const { world, bank } = this.#options;
    const acts: Record<keyof typeof CHANCES, () => void> = {
      pay: () => this.#pay((charge) => charge.status === 'ATIVA'),
      payAgain: () => this.#pay((charge) => !charge.status.startsWith('REMOVIDA')),
      foreign: () => this.#foreign(),
      goOn: () => this.#goOn(),
      takeBack: () => this.#takeBack(),
      comeBack: () => this.#comeBack(),
      remove: () => this.#remove(),
      killTokens: () => bank.front.killTokens(),
      goAway: () => bank.weather.goAway(),
      forge: () => this.#forge(),
    };
    acts[world.random.weighted(CHANCES)]();
  }

  /** The bank comes to an end with all that is under way. */
  endAll(): void {
    const { state } = this.#options.bank;
    for (const sending of state.sendings.values()) this.#endSending(sending);
    for (const payment of state.payments.values())
      for (const each of payment.returns) this.#endReturn(payment, each);
  }

  #one<Item>(items: Iterable<Item>): Item | undefined {
    const recent = [...items].slice(-RECENT);
    return recent.length === 0 ? undefined : this.#options.world.random.pick(recent);
  }

  /** Somebody pays a charge that was made: the code of another one nobody has seen. */
  #pay(isMeant: (charge: FakeCharge) => boolean): void {
    const { world, bank, stored } = this.#options;
    const { random, now } = world;
    const charges = [...bank.state.charges.values()].filter(
      (each) => isMeant(each) && stored.transaction(idOf(each.txid)) !== null,
    );
    const charge = this.#one(charges);
    if (charge === undefined) return;
    const { original } = charge.body.valor as { original: string };
    const amount = random.perMille(120) ? reais(cents(original) + random.pick([-1, 1, 500])) : original;
    const key = String(charge.body.chave);
    this.#callBackAbout(bank.state.pay({ txid: charge.txid, amount, key }, now));
  }

  #foreign(): void {
    const { random, now } = this.#options.world;
    const txid = random.pick([null, 'LOJA1', random.uuid().replaceAll('-', '')]);
    const amount = reais(1 + random.int(10_000));
    const payment = { amount, key: KEY, ...(txid === null ? {} : { txid }) };
    this.#callBackAbout(this.#options.bank.state.pay(payment, now));
  }

  #goOn(): void {
    const { random } = this.#options.world;
    const { sendings, payments } = this.#options.bank.state;
    for (const sending of sendings.values()) if (random.perMille(300)) this.#endSending(sending);
    for (const payment of payments.values())
      for (const each of payment.returns) if (random.perMille(300)) this.#endReturn(payment, each);
  }

  #endSending(sending: FakeSending): void {
    const { random, now } = this.#options.world;
    if (sending.status !== 'EM_PROCESSAMENTO') return;
    sending.status = random.perMille(800) ? 'REALIZADO' : 'NAO_REALIZADO';
    if (sending.status === 'REALIZADO') sending.settledAt = now;
    const { endToEndId, status, id: idEnvio } = sending;
    this.#callBackWith({ endToEndId, status, tipo: 'SOLICITACAO', gnExtras: { idEnvio } });
  }

  #endReturn(payment: FakePayment, each: FakeReturn): void {
    const { random } = this.#options.world;
    if (each.status !== 'EM_PROCESSAMENTO') return;
    each.status = random.perMille(800) ? 'DEVOLVIDO' : 'NAO_REALIZADO';
    if (each.status === 'NAO_REALIZADO') each.motivo = 'conta encerrada';
    this.#callBackAbout(payment);
  }

  /** The bank takes money back, or somebody gives it back in the bank's app: of a payment, whole or in part. */
  #takeBack(): void {
    const { world, bank } = this.#options;
    const { random, now } = world;
    const standing = [...bank.state.payments.values()].filter((each) => leftOf(each) > 0);
    const begun = standing.filter(({ returns }) => returns.length > 0);
    const payment = this.#one(begun.length > 0 && random.perMille(500) ? begun : standing);
    if (payment === undefined) return;
    const left = leftOf(payment);
    const natureza = random.pick(['MED_FRAUDE', 'MED_OPERACIONAL', 'ORIGINAL']);
    const valor = reais(
      random.perMille(300) ? left : 1 + random.int(random.pick([left, Math.ceil(left / 5)])),
    );
    const status = random.perMille(600) ? 'DEVOLVIDO' : 'EM_PROCESSAMENTO';
    const id = `bank${payment.returns.length}x${random.int(1_000_000)}`;
    const rtrId = bank.state.id('D', now);
    payment.returns.push({ id, rtrId, valor, natureza, status, at: now });
    this.#callBackAbout(payment);
  }

  /** The payee sends a part of a transfer back. */
  #comeBack(): void {
    const { world, bank } = this.#options;
    const { random, now } = world;
    const sendings = [...bank.state.sendings.values()];
    const sending = this.#one(sendings.filter((each) => each.status === 'REALIZADO' && leftOf(each) > 0));
    if (sending === undefined) return;
    const valor = reais(1 + random.int(leftOf(sending)));
    const rtrId = bank.state.id('D', now);
    const id = `back${sending.returns.length}`;
    sending.returns.push({ id, rtrId, valor, natureza: 'ORIGINAL', status: 'DEVOLVIDO', at: now });
    this.#callBackWith({ endToEndId: sending.endToEndId, gnExtras: { idEnvio: sending.id } });
  }

  /** The bank removes a charge that nobody has paid. */
  #remove(): void {
    const charges = [...this.#options.bank.state.charges.values()];
    const charge = this.#one(charges.filter(({ status }) => status === 'ATIVA'));
    if (charge === undefined) return;
    charge.status = 'REMOVIDA_PELO_PSP';
    charge.revisao += 1;
  }

  /** Somebody who isn't the bank says that a charge was paid, or that a transfer went out. */
  #forge(): void {
    const { world, bank } = this.#options;
    const charge = this.#one(bank.state.charges.values());
    const sending = this.#one(bank.state.sendings.values());
    const endToEndId = `E99999999202601051200${String(world.random.int(1_000_000)).padStart(11, '0')}`;
    const horario = new Date(world.now).toISOString();
    if (charge !== undefined && world.random.perMille(600)) {
      const { txid, body } = charge;
      const { original: valor } = body.valor as { original: string };
      this.#send({ endToEndId, txid, valor, chave: body.chave, horario });
    } else if (sending !== undefined)
      this.#send({ endToEndId, status: 'REALIZADO', gnExtras: { idEnvio: sending.id } });
  }

  #callBackAbout(payment: FakePayment): void {
    this.#callBackWith(shownPayment(payment));
  }

  /** What the bank calls back about gets there mostly, and sometimes twice. */
  #callBackWith(element: object): void {
    const { random } = this.#options.world;
    if (!this.#options.bank.state.webhooks.has(KEY)) return;
    for (let times = random.pick([0, 0, 1, 1, 1, 1, 2]); times > 0; times -= 1) this.#send(element);
  }

  #send(element: object, call = 1): void {
    const { world, callBack } = this.#options;
    const body = JSON.stringify({ pix: [element] });
    const again = (): void => {
      if (call < CALLS) world.after(CALL_AGAIN_MS, () => this.#send(element, call + 1));
    };
    world.after(1 + world.random.int(10_000), () => void callBack(body).catch(again));
  }
}
