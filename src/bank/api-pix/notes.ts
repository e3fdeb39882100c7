/** What ops are told about the bank (`attention`), and when that is over. */
import type { About, ItemCode, ItemData } from '../../domain/sentences/item-codes.ts';
import { itemFor } from '../../engine/attention/item.ts';
import type { ChargeRecord } from '../../engine/journal.ts';
import { sha256 } from '../../engine/journal.ts';
import type { AttentionItem, AttentionKey } from '../../engine/store.ts';
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

const CODES = {
  credentials: 'BANK_CREDENTIALS',
  scope: 'BANK_SCOPE',
  certificate: 'BANK_CERTIFICATE',
  path: 'BANK_PATH',
} as const satisfies Record<Concern, ItemCode>;
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
      await this.#note(CODES[concern], id, { call, message });
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
    const code = now < from ? 'BANK_CERTIFICATE_EARLY' : 'BANK_CERTIFICATE_EXPIRED';
    await this.#note(code, id, { at: new Date(now < from ? from : to).toISOString() });
  }

  /** A payment of a charge that can't be read: the charge waits for it. */
  unread({ id, account, snapshot }: ChargeRecord, { unread, endToEndId }: UnreadPayment): Promise<void> {
    const about = { account, transaction: id };
    const { amount } = snapshot.context;
    const data = { endToEndId, unread };
    return this.#note('CHARGE_PAYMENT_UNREADABLE', `bank_${bare(id)}`, data, about, amount);
  }

  /** A charge that waits here, and that the bank knows nothing of. */
  unknownThere({ id, account, snapshot }: ChargeRecord): Promise<void> {
    const about = { account, transaction: id };
    const data = { txid: bare(id) };
    return this.#note('CHARGE_UNKNOWN', `cob_${bare(id)}`, data, about, snapshot.context.amount);
  }

  /** A payment that no charge of ours explains. */
  foreign({ endToEndId, amount, paidAt, txid }: Payment): Promise<void> {
    return this.#note('PAYMENT_UNEXPLAINED', endToEndId, { endToEndId, txid, paidAt }, {}, amount);
  }

  /** A payment of the bank's list that can't be read, and that no charge of ours is named by. */
  foreignUnread({ endToEndId, txid, unread }: UnreadPayment): Promise<void> {
    const id = endToEndId ?? `unread_${sha256(`${txid} ${unread}`).slice(0, 24)}`;
    return this.#note('PAYMENT_UNREADABLE', id, { endToEndId, txid, unread });
  }

  /** What the bank's list and the journal differ in. */
  difference<Code extends ItemCode>(
    code: Code,
    id: string,
    data: ItemData[Code],
    about: Partial<About>,
    amount: number | null,
  ): Promise<void> {
    return this.#note(code, id, data, about, amount);
  }

  #note<Code extends ItemCode>(
    code: Code,
    id: string,
    data: ItemData[Code],
    about: Partial<About> = {},
    amount: number | null = null,
  ): Promise<void> {
    const since = new Date(this.#options.now()).toISOString();
    return this.#options.note([itemFor(code, { id, since, about, data }, amount)]);
  }
}
