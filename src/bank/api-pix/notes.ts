/** What ops are told about the bank (`attention`), and when that is over. */
import type { AttentionKind, ChargeRecord } from '../../engine/journal.ts';
import { sha256 } from '../../engine/journal.ts';
import { type About, type AttentionItem, type AttentionKey, itemOf } from '../../engine/store.ts';
import type { Payment, UnreadPayment } from './payments.ts';
import { bare } from './profile.ts';
import type { CallEnded } from './wire/client.ts';
import { type ClientIdentity, validity } from './wire/identity.ts';
import type { Concern } from './wire/outcome.ts';

export interface NotesOptions {
  note(items: AttentionItem[]): Promise<void>;
  withdraw(keys: readonly AttentionKey[]): Promise<void>;
  now(): number;
}

/** What a person does about it. */
const STEPS: Record<Concern, string> = {
  credentials: 'look at BANK_CLIENT_ID and BANK_CLIENT_SECRET; npx pixstate bank check',
  scope: "have the contract's scopes extended at the bank; npx pixstate bank check",
  certificate: 'renew the client certificate at the bank; npx pixstate bank check',
  path: 'look at BANK_URL, BANK_TOKEN_URL and BANK_PROFILE; npx pixstate bank check',
};
/** A contract or a certificate is one for all calls; scopes and paths are each call's own. */
const OF_ALL: readonly Concern[] = ['credentials', 'certificate'];

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

function idOf(concern: Concern, call: string): string {
  return OF_ALL.includes(concern) ? `bank-${concern}` : `bank-${concern}-${slug(call)}`;
}

export class Notes {
  readonly #options: NotesOptions;
  /** What was found right, or wrong, since this process began: told once each. */
  readonly #known = new Map<string, boolean>();

  constructor(options: NotesOptions) {
    this.#options = options;
  }

  /** A call has ended: what is wrong with our side of it is noted, and gone when it works again. */
  called({ call, outcome, concern, message }: CallEnded): void {
    // What can't be noted now is noted with the next call that ends so.
    if (concern !== null) void this.#wrong(concern, call, message).catch(() => {});
    else if (outcome === 'ok') void this.#right(call).catch(() => {});
  }

  async #wrong(concern: Concern, call: string, message: string): Promise<void> {
    const id = idOf(concern, call);
    if (this.#known.get(id) === false) return;
    this.#known.set(id, false);
    try {
      await this.#note('bank', id, `${call} at the bank: ${message}`, STEPS[concern]);
    } catch (error) {
      this.#known.delete(id);
      throw error;
    }
  }

  async #right(call: string): Promise<void> {
    const concerns: Concern[] = ['credentials', 'certificate', 'scope', 'path'];
    const ids = concerns.map((concern) => idOf(concern, call)).filter((id) => this.#known.get(id) !== true);
    if (ids.length === 0) return;
    for (const id of ids) this.#known.set(id, true);
    try {
      await this.#options.withdraw(ids.map((id) => ({ kind: 'bank', id })));
    } catch (error) {
      for (const id of ids) this.#known.delete(id);
      throw error;
    }
  }

  /** The certificate's dates, whether they hold. */
  async certificate(identity: ClientIdentity): Promise<void> {
    const { from, to } = validity(identity);
    const now = this.#options.now();
    const id = 'bank-certificate-dates';
    // That it expires soon is for `bank check` and the metric: nothing is wrong yet.
    if (now >= from && now < to) return this.#options.withdraw([{ kind: 'bank', id }]);
    const text = new Date(now < from ? from : to).toISOString();
    const state = now < from ? 'is good only from' : 'has expired at';
    await this.#note('bank', id, `the client certificate ${state} ${text}`, STEPS.certificate);
  }

  /** A payment of a charge that can't be read: the charge waits for it. */
  unread({ id, account, snapshot }: ChargeRecord, { unread, endToEndId }: UnreadPayment): Promise<void> {
    const what = `a payment of pix-in ${id} (${endToEndId ?? 'without an end-to-end id'}) can't be read: ${unread}`;
    const next = `ask the bank what was paid; npx pixstate inspect ${id} shows the charge`;
    const { amount } = snapshot.context;
    return this.#note('invalid', `bank_${bare(id)}`, what, next, { account, transaction: id }, amount);
  }

  /** A charge that waits here, and that the bank knows nothing of. */
  unknownThere({ id, account, snapshot }: ChargeRecord): Promise<void> {
    const what = `the bank knows no charge ${bare(id)}, which waits for its payment here (pix-in ${id})`;
    const next = 'ask the bank why: nobody can pay it; it expires at its time';
    const about = { account, transaction: id };
    return this.#note('difference', `cob_${bare(id)}`, what, next, about, snapshot.context.amount);
  }

  /** A payment that no charge of ours explains. */
  foreign({ endToEndId, amount, paidAt, txid }: Payment): Promise<void> {
    const code = txid === null ? 'without a txid' : `with the txid ${txid}`;
    const what = `the bank received payment ${endToEndId} ${code} at ${paidAt}, and no charge of ours explains it`;
    const next = 'find out whose it is: money may have to be given back at the bank';
    return this.#note('payment', endToEndId, what, next, {}, amount);
  }

  /** A payment of the bank's list that can't be read, and that no charge of ours is named by. */
  foreignUnread({ endToEndId, txid, unread }: UnreadPayment): Promise<void> {
    const id = endToEndId ?? `unread_${sha256(`${txid} ${unread}`).slice(0, 24)}`;
    const what = `a payment in the bank's list (${endToEndId ?? 'without an end-to-end id'}, ${txid ?? 'no txid'}) can't be read: ${unread}`;
    return this.#note('payment', id, what, 'ask the bank what was paid');
  }

  difference(id: string, what: string, about: Partial<About>, amount: number | null): Promise<void> {
    const next = 'npx pixstate bank reconcile shows the whole of the day; ask the bank';
    return this.#note('difference', id, what, next, about, amount);
  }

  #note(
    kind: AttentionKind,
    id: string,
    what: string,
    next: string,
    about: Partial<About> = {},
    amount: number | null = null,
  ): Promise<void> {
    const since = new Date(this.#options.now()).toISOString();
    return this.#options.note([itemOf({ kind, id, what, next }, since, about, amount)]);
  }
}
