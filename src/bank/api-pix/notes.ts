/** What ops are told about the bank (`attention`), and when that is over. */
import type { About, ItemCode, ItemData } from '../../domain/sentences/item-codes.ts';
import { itemFor } from '../../engine/attention/item.ts';
import type { ChargeRecord } from '../../engine/journal.ts';
import { sha256 } from '../../engine/store/content.ts';
import type { Attention, AttentionItem, AttentionKey, AttentionPlace } from '../../engine/store.ts';
import type { BankCharge } from './charges.ts';
import type { Payment, UnreadPayment } from './payments.ts';
import { bare } from './profile.ts';
import type { UnreadSending } from './sendings.ts';
import type { CallEnded } from './wire/client.ts';
import { type ClientIdentity, validity } from './wire/identity.ts';
import type { Concern } from './wire/outcome.ts';

export interface NotesOptions {
  note(items: AttentionItem[]): Promise<void>;
  withdraw(keys: readonly AttentionKey[]): Promise<void>;
  /** What is on the list: other processes, and those before this one, have noted, too. */
  attention: Pick<Attention, 'page' | 'find'>;
  now(): number;
  /** Of the waits. */
  retryScale: number;
}

const MINUTE_MS = 60_000;
/** Calls that are held back for longer are a person's. */
const HELD_MS = 5 * MINUTE_MS;
/** What another process has noted is its own for so long: it may know better. */
const OTHERS_MS = 5 * MINUTE_MS;
const MOST_LISTED = 1_000;
const PAGE = 500;
const AWAY = 'bank-away';
const LISTS = 'bank-lists';
const WEBHOOK_URL = 'bank-webhook-url';

const CODES = {
  credentials: 'BANK_CREDENTIALS',
  scope: 'BANK_SCOPE',
  certificate: 'BANK_CERTIFICATE',
  path: 'BANK_PATH',
} as const satisfies Record<Concern, ItemCode>;
/** A contract or a certificate is one for all calls; scopes and paths are each call's own. */
const OF_ALL: readonly Concern[] = ['credentials', 'certificate'];

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

function limitId(call: string): string {
  return `bank-limit-${slug(call)}`;
}

function idOf(concern: Concern, call: string): string {
  return OF_ALL.includes(concern) ? `bank-${concern}` : `bank-${concern}-${slug(call)}`;
}

/** How the ids of items about a charge's payments that can't be read begin. */
function unreadOf(charge: string): string {
  return `bank_${bare(charge)}`;
}

/** Each payment that can't be read, and each thing that is wrong with it, is news of its own. */
function unreadId(charge: string, { endToEndId, unread }: UnreadPayment): string {
  return `${unreadOf(charge)}_${sha256(`${endToEndId} ${unread}`).slice(0, 12)}`;
}

/** All items that a call of this name which went through shows to be over. */
function idsOf(call: string): string[] {
  const concerns: Concern[] = ['credentials', 'certificate', 'scope', 'path'];
  return [...concerns.map((concern) => idOf(concern, call)), limitId(call), limitId('token'), AWAY];
}

export class Notes {
  readonly #options: NotesOptions;
  /** What was found right, or wrong, since this process began: told once each. */
  readonly #known = new Map<string, boolean>();

  constructor(options: NotesOptions) {
    this.#options = options;
  }

  /** A call has ended: what is wrong with our side of it is noted, and gone when it works again. */
  called({ call, outcome, concern, message, held }: CallEnded): void {
    if (concern !== null) this.#wrong(CODES[concern], idOf(concern, call), { call, message });
    // A bank that knows no such thing has let the call in.
    else if (outcome === 'ok' || outcome === 'not-found') this.#right(idsOf(call));
    if (held === null || held.ms < HELD_MS * this.#options.retryScale) return;
    const minutes = Math.max(1, Math.round(held.ms / MINUTE_MS));
    if (held.by === 'limit') this.#wrong('BANK_LIMIT', limitId(held.call), { call: held.call, minutes });
    else this.#wrong('BANK_AWAY', AWAY, { call, message });
  }

  /** What can't be noted now is noted with the next call that ends so. */
  #wrong<Code extends ItemCode>(code: Code, id: string, data: ItemData[Code]): void {
    if (this.#known.get(id) === false) return;
    this.#known.set(id, false);
    this.#note(code, id, data).catch(() => this.#known.delete(id));
  }

  #right(all: readonly string[]): void {
    const ids = all.filter((id) => this.#known.get(id) !== true);
    if (ids.length === 0) return;
    for (const id of ids) this.#known.set(id, true);
    this.#options
      .withdraw(ids.map((id) => ({ kind: 'bank', id })))
      .catch(() => ids.forEach((id) => void this.#known.delete(id)));
  }

  /**
   * Looks at the list, since others have noted, too: what works here goes with the next call, once its process had time
   * to note it anew; what still fails here is noted again.
   */
  async look(): Promise<void> {
    const { attention, now, retryScale } = this.#options;
    const listed = await attention.page({ kind: 'bank' }, null, MOST_LISTED);
    const since = new Map(listed.map((item) => [item.id, Date.parse(item.since)]));
    const before = now() - OTHERS_MS * retryScale;
    for (const [id, isRight] of this.#known) {
      const at = since.get(id);
      if (isRight ? at !== undefined && at <= before : at === undefined) this.#known.delete(id);
    }
  }

  /** The bank doesn't take a key for one of ours; noted once, until it does. */
  keyRefused(key: string, message: string): void {
    this.#wrong('BANK_KEY', keyId(key), { key: masked(key), message });
  }

  keyTaken(key: string): void {
    this.#right([keyId(key)]);
  }

  /** The bank doesn't take the URL at which it is to call back. */
  webhookRefused(url: string, message: string): void {
    // The path is a secret where no certificate is asked for.
    this.#wrong('BANK_WEBHOOK', WEBHOOK_URL, { url: new URL(url).origin, message });
  }

  webhookTaken(): void {
    this.#right([WEBHOOK_URL]);
  }

  /**
   * The bank knows a charge: what was noted of it before is over, but for those of its payments that can't be read
   * still. Whoever has noted it, a process before this one for example.
   */
  async heard(
    { id }: ChargeRecord,
    { payments, unread }: Pick<BankCharge, 'payments' | 'unread'>,
  ): Promise<void> {
    const { attention, withdraw } = this.#options;
    const over: AttentionKey[] = await attention.find(`cob_${bare(id)}`);
    const held = new Set(unread.map((each) => unreadId(id, each)));
    const shown = new Set([...payments, ...unread].map(({ endToEndId }) => endToEndId));
    for (const item of await attention.page({ kind: 'invalid', transaction: id }, null, MOST_LISTED)) {
      // Items of former builds bear the charge's id alone, and the first ones don't say which payment they are about.
      if (!item.id.startsWith(unreadOf(id)) || held.has(item.id)) continue;
      const { endToEndId = null } = (item.data ?? {}) as { endToEndId?: string | null };
      if (unread.length === 0 || endToEndId === null || shown.has(endToEndId)) over.push(item);
    }
    if (over.length > 0) await withdraw(over.map(({ kind, id: each }) => ({ kind, id: each })));
  }

  #noteOfCharge<Code extends 'CHARGE_PAYMENT_UNREADABLE' | 'CHARGE_UNKNOWN'>(
    code: Code,
    itemId: string,
    data: ItemData[Code],
    { id: transaction, account, snapshot }: ChargeRecord,
  ): Promise<void> {
    return this.#note(code, itemId, data, { account, transaction }, snapshot.context.amount);
  }

  /** The bank's lists can't be read whole; noted once, until they can. */
  listsUnread(since: number, message: string): void {
    this.#wrong('BANK_LISTS', LISTS, { since: new Date(since).toISOString(), message });
  }

  listsRead(): void {
    this.#right([LISTS]);
  }

  /** The items of what differs, oldest first, in pages: there may be more of them than fit into memory. */
  async *differences(): AsyncGenerator<AttentionItem[]> {
    let after: AttentionPlace | null = null;
    for (;;) {
      const items: AttentionItem[] = await this.#options.attention.page({ kind: 'difference' }, after, PAGE);
      yield items;
      if (items.length < PAGE) return;
      after = items.at(-1) ?? null;
    }
  }

  /** The bank and the journal agree by now in what an item says, where it is on the list. */
  async agreed(id: string): Promise<void> {
    const found = await this.#options.attention.find(id);
    if (found.length > 0) await this.#options.withdraw([{ kind: 'difference', id }]);
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
  unread(record: ChargeRecord, payment: UnreadPayment): Promise<void> {
    const { unread, endToEndId } = payment;
    const id = unreadId(record.id, payment);
    return this.#noteOfCharge('CHARGE_PAYMENT_UNREADABLE', id, { endToEndId, unread }, record);
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

  /** Transfers of the bank's list that can't be read: each is told of once. */
  async sendingsUnread(unread: readonly UnreadSending[]): Promise<void> {
    if (unread.length === 0) return;
    const since = new Date(this.#options.now()).toISOString();
    const items = unread.map(({ id: listed, unread: mark }) =>
      itemFor('TRANSFER_UNREADABLE', { id: `sent_unread_${mark}`, since, data: { listed } }),
    );
    await this.#options.note(items);
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
