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

const MOST_CHARGES = 10_000;
const SHOWN = 4;

/** A key that may be shown: its end alone. */
export function masked(key: string): string {
  return `***${key.slice(-SHOWN)}`;
}

function keyId(key: string): string {
  return `bank-key-${sha256(key).slice(0, 12)}`;
}

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
  /** Items about charges that this process has noted. */
  readonly #ofCharges = new Set<string>();

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

  /** The bank doesn't take a key for one of ours; noted once, until it does. */
  keyRefused(key: string, message: string): void {
    const id = keyId(key);
    if (this.#known.get(id) === false) return;
    this.#known.set(id, false);
    this.#note('BANK_KEY', id, { key: masked(key), message }).catch(() => this.#known.delete(id));
  }

  keyTaken(key: string): void {
    const id = keyId(key);
    if (this.#known.get(id) === true) return;
    this.#known.set(id, true);
    this.#options.withdraw([{ kind: 'bank', id }]).catch(() => this.#known.delete(id));
  }

  /** The bank knows a charge, and all of its payments can be read, or not: what was noted of it before is over. */
  async heard({ id }: ChargeRecord, isUnread: boolean): Promise<void> {
    const over: AttentionKey[] = [{ kind: 'difference', id: `cob_${bare(id)}` }];
    if (!isUnread) over.push({ kind: 'invalid', id: `bank_${bare(id)}` });
    const noted = over.filter((key) => this.#ofCharges.has(key.id));
    if (noted.length === 0) return;
    await this.#options.withdraw(noted);
    for (const key of noted) this.#ofCharges.delete(key.id);
  }

  #noteOfCharge<Code extends 'CHARGE_PAYMENT_UNREADABLE' | 'CHARGE_UNKNOWN'>(
    code: Code,
    itemId: string,
    data: ItemData[Code],
    { id: transaction, account, snapshot }: ChargeRecord,
  ): Promise<void> {
    // The oldest are forgotten: their items stay until somebody is done with them.
    if (this.#ofCharges.size >= MOST_CHARGES) this.#ofCharges.clear();
    this.#ofCharges.add(itemId);
    return this.#note(code, itemId, data, { account, transaction }, snapshot.context.amount);
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
  unread(record: ChargeRecord, { unread, endToEndId }: UnreadPayment): Promise<void> {
    const data = { endToEndId, unread };
    return this.#noteOfCharge('CHARGE_PAYMENT_UNREADABLE', `bank_${bare(record.id)}`, data, record);
  }

  /** A charge that waits here, and that the bank knows nothing of. */
  unknownThere(record: ChargeRecord): Promise<void> {
    const txid = bare(record.id);
    return this.#noteOfCharge('CHARGE_UNKNOWN', `cob_${txid}`, { txid }, record);
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
