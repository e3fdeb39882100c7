/**
 * A bank with an API Pix behind the engine's port: charges, payments, refunds and returns by the standard, transfers as
 * its profile sends them. What it says becomes messages; what went wrong becomes one of three outcomes.
 */
import { type Account, keyOf } from '../../domain/account.ts';
import {
  type Attempt,
  type Awakening,
  type Bank,
  type BankMessage,
  BankNotDone,
  BankOutcomeUnknown,
  type BankPace,
  BankRefused,
  type ChargeToRegister,
  type MayBegin,
  type PayoutContract,
  type PayoutToCheck,
  type RegisteredCharge,
  type ReturnTurn,
  type SubmittedPayout,
} from '../../engine/bank.ts';
import type { ChargeRecord, TransactionRecord, TransferRecord } from '../../engine/journal.ts';
import type { DueIndex } from '../../engine/store.ts';
import type { Soon } from '../../waiting.ts';
import { askedInTurn } from './asked-charge.ts';
import { askAbout, asking } from './callbacks/incoming.ts';
import type { BankCharge } from './charges.ts';
import type { BankConnection } from './connection.ts';
import { knownCharge, WAITING } from './known-charge.ts';
import { LastWords } from './last-words.ts';
import { chargeMessages, paymentsOf, sendingNews } from './messages.ts';
import type { Notes } from './notes.ts';
import { bare, type Sending } from './profile.ts';
import { noteDiffering, noteRefunded, settledOtherwise } from './reconciling/differing.ts';
import { orHeldBack, outcomeOf, Returns, refusalOf } from './returns.ts';
import type { BankSettings } from './settings.ts';
import { CallFailed } from './wire/outcome.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** Longer than any of its calls takes: each has a deadline of its own. */
const CALL_MS = 28_000;
const PAID_BY_NOTHING = 'the bank says that the charge was paid, and shows no payment of it';
/** The field of a charge that says who receives. */
const OF_KEY = /(^|\.)chave$/i;

export interface ApiPixOptions {
  connection: BankConnection;
  settings: Pick<BankSettings, 'profile' | 'credentials' | 'pixKey' | 'retryScale' | 'expiryGraceS'>;
  /** A transaction as it is now. */
  transaction(id: string): Promise<TransactionRecord | null>;
  /** Takes questions about charges of which nobody knows what became of an order. */
  due: Pick<DueIndex, 'settle'>;
  /** The store's clock, ms. */
  now(): number;
  /** The settings of an account. */
  account(id: string): Soon<Account | null>;
  /** Hear of charges that the bank doesn't know, of payments that can't be read, and of other amounts. */
  notes: Pick<
    Notes,
    'unread' | 'unknownThere' | 'heard' | 'keyTaken' | 'keyRefused' | 'difference' | 'agreed'
  >;
}

export class ApiPixBank implements Bank {
  readonly name = 'api-pix';
  readonly everyDoorSpeaks = false;
  readonly canRepeatSubmit = false;
  readonly canRepeatUnknown: boolean;
  readonly canBeAsked = true;
  readonly asksInTurn = true;
  readonly looseIds = true;
  readonly firstWakeInMs = null;
  readonly fillIn = null;
  readonly pace: BankPace;
  readonly #options: ApiPixOptions;
  readonly #returns: Returns;
  readonly #words = new LastWords();

  constructor(options: ApiPixOptions) {
    const { connection, settings } = options;
    const { retryScale: scale, expiryGraceS } = settings;
    this.#options = options;
    this.canRepeatUnknown = connection.sendings?.canRepeat ?? false;
    this.pace = {
      callsAtOnce: connection.profile.callsAtOnce,
      callMs: CALL_MS,
      firstMs: 2 * SECOND_MS * scale,
      longestMs: 10 * MINUTE_MS * scale,
      refusalMs: MINUTE_MS * scale,
      expiryGraceMs: expiryGraceS * SECOND_MS,
    };
    this.#returns = new Returns(connection.payments, this.pace, this.#words, options.notes);
  }

  canAskAbout({ id, type }: TransactionRecord, bankId: string | null = null): boolean {
    return type === 'pix-in' || this.#options.connection.sendings?.canAsk({ id, bankId }) === true;
  }

  says(id: string): string | null {
    return this.#words.of(id);
  }

  reachable(): boolean {
    return !this.#options.connection.client.breaker.isOpen;
  }

  async register(given: ChargeToRegister): Promise<RegisteredCharge> {
    const { expiresIn, pixKey: own, isOwn, customer: payer, ...charge } = given;
    const pixKey = this.#key({ pixKey: own, isOwn });
    if (pixKey === null) throw new BankRefused('the account has no Pix key');
    try {
      const customer = payer && { name: payer.name, document: payer.document?.number ?? null };
      const order = { ...charge, pixKey, customer, expiresInS: expiresIn };
      const qrcode = await this.#options.connection.charges.register(order);
      this.#options.notes.keyTaken(pixKey);
      return { qrcode, wakeInMs: null, pixKey };
    } catch (error) {
      if (error instanceof CallFailed && error.violated.some((field) => OF_KEY.test(field)))
        this.#options.notes.keyRefused(pixKey, error.message);
      throw refusalOf(error);
    }
  }

  async check({ from }: PayoutToCheck): Promise<void> {
    const { connection } = this.#options;
    if (connection.sendings === null)
      throw new BankRefused(`the profile ${connection.profile.name} has no way to send`);
    if (this.#key(from) === null) throw new BankRefused('the account has no Pix key');
    if (!this.reachable()) throw new BankRefused('the bank can not be reached');
  }

  async contract({ account: id }: TransactionRecord): Promise<PayoutContract> {
    const { settings, account: accountOf } = this.#options;
    const account = await accountOf(id);
    const pixKey = account === null ? null : this.#key(keyOf(account));
    if (pixKey === null) throw new BankNotDone(`account ${id} has no Pix key`);
    return { clientId: settings.credentials.clientId, pixKey, profile: settings.profile };
  }

  async submit(
    payout: TransactionRecord,
    { pixKey: from = '' }: PayoutContract,
    mayBegin: MayBegin,
  ): Promise<SubmittedPayout> {
    const { sendings } = this.#options.connection;
    if (sendings === null) throw new BankNotDone('the profile has no way to send');
    if (payout.type !== 'cashout') throw new Error(`${payout.id} is no cashout`);
    const { amount, pixKey: to, description } = payout.snapshot.context;
    try {
      const sending = await sendings.order({ id: payout.id, amount, from, to, description }, mayBegin);
      const messages = await this.#heardOf(payout, sending);
      return { wakeInMs: null, messages, bankId: sending.bankId };
    } catch (error) {
      // A refused repeat is no end, and its reason is what a person needs.
      if (error instanceof CallFailed && error.kind === 'refused')
        this.#words.heard(payout.id, `${error.status} ${error.bankName ?? ''}`.trim());
      throw outcomeOf(error);
    }
  }

  async query(transaction: TransactionRecord, _at: number, bankId?: string): Promise<BankMessage[] | null> {
    return orHeldBack(
      transaction.type === 'pix-in'
        ? this.#askCharge(transaction, bankId ?? null)
        : this.#askSending(transaction, bankId ?? null),
    );
  }

  async #askCharge(record: ChargeRecord, payment: string | null): Promise<BankMessage[] | null> {
    const answer = await askedInTurn(this.#options.connection, record, payment);
    // Read after the answer: an order of ours that the answer shows was in the journal before it was at the bank.
    const current = await this.#current(record);
    if (answer !== null) return this.#heard(current, answer);
    if (current.snapshot.value === WAITING) await this.#options.notes.unknownThere(current);
    return null;
  }

  async #current(record: ChargeRecord): Promise<ChargeRecord> {
    const current = await this.#options.transaction(record.id);
    return current?.type === 'pix-in' ? current : record;
  }

  /** A payment that can't be read waits, and the charge with it: what it is a person finds out. */
  async #heard(record: ChargeRecord, answer: BankCharge): Promise<BankMessage[]> {
    const { notes, now } = this.#options;
    const { value, context } = record.snapshot;
    const waits = value === WAITING;
    const isUnread = answer.unread.length > 0;
    const own = paymentsOf(answer, knownCharge(record));
    const isPaidByNothing = answer.status === 'CONCLUIDA' && own.length === 0 && !isUnread && waits;
    // A moment later the bank may say by what; past its time the charge would wait for that without a word to ops.
    const isLate = isPaidByNothing && Date.parse(context.expiresAt) <= now();
    const unread = isLate
      ? [{ unread: PAID_BY_NOTHING, endToEndId: null, txid: answer.txid }]
      : answer.unread;
    await notes.heard(record, { payments: answer.payments, unread });
    await noteRefunded(notes, record, own);
    for (const payment of unread) await notes.unread(record, payment);
    if (isUnread && waits) throw new BankOutcomeUnknown(`a payment of charge ${record.id} can't be read`);
    if (isPaidByNothing)
      throw new BankOutcomeUnknown(`the bank says that charge ${record.id} was paid, and not yet by what`);
    return chargeMessages(answer, knownCharge(record));
  }

  async #askSending(record: TransferRecord, bankId: string | null): Promise<BankMessage[] | null> {
    const { sendings } = this.#options.connection;
    const ref = { id: record.id, bankId };
    if (sendings?.canAsk(ref) !== true) return null;
    const sending = await sendings.ask(ref);
    if (sending === null) {
      this.#words.forget(record.id);
      return null;
    }
    return this.#heardOf(record, sending);
  }

  /** What was sent may be another amount than was ordered: not every bank has a list that would tell. */
  async #heardOf(record: TransferRecord, sending: Sending): Promise<BankMessage[]> {
    const { endToEndId, amount, told } = sending;
    this.#words.heard(record.id, told);
    const listed = endToEndId ?? bare(record.id);
    await noteDiffering(this.#options.notes, record, { listed, amount }, settledOtherwise(record, sending));
    return sendingNews(record, sending);
  }

  /** Whatever happened to the request, what the bank shows afterwards counts. */
  async cancel({ id }: Pick<ChargeRecord, 'id'>): Promise<BankMessage[]> {
    const { charges } = this.#options.connection;
    await this.#askWhereStill(id);
    try {
      const { status } = await charges.remove(id);
      if (status?.startsWith('REMOVIDA_') === true) return [];
      throw new CallFailed('unknown', `the bank says that the charge it removed is ${status}`);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      return this.#afterCancel(id, error);
    }
  }

  async #afterCancel(id: string, failure: CallFailed): Promise<BankMessage[]> {
    if (failure.kind === 'not-done' && failure.status !== 404) throw refusalOf(failure);
    try {
      const answer = await this.#options.connection.charges.ask(id);
      const record = await this.#options.transaction(id);
      // One that was never made here has no payment to tell of.
      if (record?.type !== 'pix-in') return [];
      // It came to its end meanwhile: nothing is left to cancel, as its state says.
      if (record.snapshot.value !== WAITING) return [];
      // Where the bank knows no such charge nobody can pay it.
      if (answer === null && !this.#isNew(record)) return [];
      const messages = answer === null ? [] : await this.#heard(record, answer);
      const isOff = messages.some(({ type }) => type === 'CANCEL');
      const others = messages.filter(({ type }) => type !== 'CANCEL');
      if (isOff || others.length > 0) return others;
    } catch (error) {
      await this.#askLater(id);
      throw error instanceof BankOutcomeUnknown ? new BankRefused(error.message) : refusalOf(error);
    }
    if (failure.kind === 'unknown') await this.#askLater(id);
    throw refusalOf(failure);
  }

  /** A bank may show a charge that it has just made only a moment later, and let it be paid all the same. */
  #isNew({ snapshot }: ChargeRecord): boolean {
    return this.#options.now() - Date.parse(snapshot.context.createdAt) < this.pace.refusalMs;
  }

  /** Whether the charge is off, nobody knows: the bank is asked until it says. */
  async #askLater(id: string): Promise<void> {
    const record = await this.#options.transaction(id);
    if (record !== null) await askAbout(this.#options, [{ record, payment: null }]);
  }

  /** Leaves a question that finds out what a cancel came to, where nobody can book it: the process dies, the store is away. */
  async #askWhereStill(id: string): Promise<void> {
    const { transaction, due, now } = this.#options;
    const record = await transaction(id);
    if (record?.snapshot.value !== WAITING) return;
    await due.settle([asking(record, now(), { state: WAITING }, this.pace.refusalMs)]);
  }

  refund(charge: ChargeRecord, refundId: string, attempt: Attempt): Promise<Awakening> {
    return this.#returns.refund(charge, refundId, attempt);
  }

  giveBack(payment: Parameters<Bank['giveBack']>[0], attempt: Attempt): Promise<ReturnTurn> {
    return this.#returns.giveBack(payment, attempt);
  }

  /** The bank is asked when a charge expires, and where it hints at something: it wakes nobody by itself. */
  async wake(): Promise<Awakening> {
    return { messages: [], wakeInMs: null };
  }

  #key({ pixKey, isOwn }: { pixKey: string; isOwn: boolean }): string | null {
    return isOwn ? pixKey : this.#options.settings.pixKey;
  }
}
