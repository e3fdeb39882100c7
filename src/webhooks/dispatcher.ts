/**
 * Owns the deliveries in hand: from their claim to the record of their attempt. What is fresh from its commit
 * comes with its payload; what a sweep claimed is read from the store and the journal.
 *
 * 1. Delivery n + 1 of a transaction to a URL starts once the first attempt of n has ended.
 * 2. Every claim ends in a settlement, or goes behind its target: with a record where there was an attempt, without
 *    one where it was put off. What dies with the process is found again by its claim.
 * 3. What is in hand is bounded, and no target has more of it than it leaves free; the rest waits in the store.
 */
import type { Directory } from '../accounts/directory.ts';
import { textOfTime, timeOfText } from '../domain/time.ts';
import { webhookPayload } from '../domain/webhook-payload.ts';
import type { Committed } from '../engine/actors/host.ts';
import { Room } from '../engine/claims/room.ts';
import { Settler } from '../engine/claims/settler.ts';
import type { Engine } from '../engine/engine.ts';
import type { Backlog, Target } from '../engine/store/backlog.ts';
import type { DeliveryRecord } from '../engine/store/deliveries.ts';
import { type ClaimOf, type Due, dueAgain, ownTime, postponed, seen } from '../engine/store/due.ts';
import type { AttentionItem, DueIndex } from '../engine/store.ts';
import { Lately, Named } from '../passing.ts';
import type { Soon } from '../waiting.ts';
import { type Claimed, ClaimReader, type ClaimSources, hasBegun } from './claimed.ts';
import { attempted, newDelivery, urlRemoved, wantsAttempt } from './delivery.ts';
import { type InHand, inHand, sendOf, type ToTell, toTell } from './in-hand.ts';
import type { Attempted, SendResult, WebhookSender } from './sender/port.ts';
import { SweepRoom } from './sweep-room.ts';
import { Targets } from './targets.ts';
import { WaitingLine } from './waiting-line.ts';

export interface DispatcherOptions extends ClaimSources {
  due: DueIndex;
  backlog: Backlog;
  directory: Directory;
  sender: WebhookSender;
  /** Where it is noted that a target hangs. */
  attention: Pick<Engine, 'note' | 'withdraw'>;
  now(): number;
  /** By how many ms that clock is ahead of the sender's; by none where nothing is said. */
  aheadOfSender?(): number;
  /** `WEBHOOK_RETRY_SCALE`. */
  retryScale: number;
  onAttempt?(record: DeliveryRecord, durationMs: number, target: Target): void;
  /** A delivery is dead: its item is stored with its record. */
  onDead?(item: AttentionItem): void;
  /** A delivery was rejected, and is counted in its item. */
  onRejected?(item: AttentionItem): void;
}

const MAX_IN_HAND = 4_096;
/** First attempts that are remembered: more than are in hand. */
const REMEMBERED = 16_384;
/** The delivery before is in other hands: look again after so long. */
const NOT_YET_MS = 250;

export class Dispatcher {
  /** For how many more deliveries there is room. */
  readonly room = new Room(MAX_IN_HAND);
  /** For how many more sweeps may claim. */
  readonly toClaim = new SweepRoom(this.room);
  readonly #options: DispatcherOptions;
  /** By delivery id: their first attempt hasn't ended, or isn't recorded yet. */
  readonly #jobs = new Named<InHand>();
  /** Jobs that wait for the first attempt of another, by that one's id. */
  readonly #waiting = new Named<InHand[]>();
  /** Deliveries whose first attempt has ended here, which stays true whoever has them by now. */
  readonly #ended = new Lately<true>(REMEMBERED);
  readonly #settler: Settler;
  readonly #targets = new Targets(() => performance.now());
  readonly #line: WaitingLine;
  readonly #reader: ClaimReader;

  constructor(options: DispatcherOptions) {
    const { due, sender, onTrouble } = options;
    this.#options = options;
    this.#settler = new Settler(due, onTrouble);
    this.#reader = new ClaimReader(options);
    const start = (claims: readonly ClaimOf<'delivery'>[]): Promise<void> => this.#startTaken(claims);
    this.#line = new WaitingLine({ ...options, targets: this.#targets, room: this.room, start });
    sender.onResults((results) => this.#results(results));
  }

  /** Takes up what a batch made due: nothing is read, the batch has it all. */
  dispatchFresh({ account, taken }: Committed, claims: ReadonlyMap<string, ClaimOf<'delivery'>>): void {
    this.room.occupy(claims.size);
    for (const { entry, record } of taken) {
      if (record === null) continue;
      for (const event of entry.events) {
        const named = { id: event.id, name: event.name };
        let body: string | null = null;
        for (const { id, url, after } of event.deliveries) {
          const claim = claims.get(id);
          if (claim === undefined) continue;
          const state = this.#targets.of(account, url);
          if (state.isFull(this.room.free)) {
            this.#line.put(state, claim);
            continue;
          }
          body ??= JSON.stringify(webhookPayload(event, entry.at, record));
          const fresh = newDelivery(id, account, record.id);
          this.#dispatch({ claim, record: fresh, state, after, event: named, body, isLook: false });
        }
      }
    }
  }

  /** Takes up what a sweep claimed; what its target has no room for goes behind it without being read. */
  async dispatchClaimed(claims: readonly ClaimOf<'delivery'>[]): Promise<void> {
    this.room.occupy(claims.length);
    await this.toClaim.read(claims.length, async () => {
      const wanted = await this.#options.spareTime.take(() => this.#withoutFull(claims));
      await this.#readAll(wanted, false);
    });
  }

  async #withoutFull(claims: readonly ClaimOf<'delivery'>[]): Promise<ClaimOf<'delivery'>[]> {
    const wanted = claims.filter((claim) => {
      const { account, url } = claim.due;
      const state = url === undefined ? null : this.#targets.of(account, url);
      if (state === null || !state.isFull(this.room.free)) return true;
      this.#line.put(state, claim);
      return false;
    });
    if (wanted.length < claims.length) await this.#line.allPut();
    return wanted;
  }

  /** Looks after the targets that didn't keep up and whose time has come. */
  look(): Promise<void> {
    return this.#line.look();
  }

  async #startTaken(claims: readonly ClaimOf<'delivery'>[]): Promise<void> {
    this.room.occupy(claims.length);
    await this.#readAll(claims, true);
  }

  /** Reads what each was about and where it stands; `isLook`: they were taken from behind their target. */
  #readAll(claims: readonly ClaimOf<'delivery'>[], isLook: boolean): Promise<void> {
    const failed = (claim: ClaimOf<'delivery'>): void => this.#putOff(claim, 1_000 * (claim.due.tries + 1));
    return this.#reader.read(claims, (claimed) => this.#take(claimed, isLook), failed);
  }

  /** The latest time that a clock has shown: that of who claimed it before may be a little ahead of this one. */
  #shown({ due }: ClaimOf<'delivery'>): number {
    return Math.max(seen(due, this.#options.now()), ownTime(due));
  }

  #take({ claim, delivery, record }: Claimed, isLook: boolean): void {
    const { delivery: id, account } = claim.due;
    // An attempt is under way, perhaps on a claim that was lost meanwhile: this one stays until it ended.
    if (delivery !== undefined && this.#jobs.has(id)) this.#putOff(claim, NOT_YET_MS);
    // A hint that is not true any more.
    else if (delivery === undefined || !wantsAttempt(record, this.#shown(claim))) this.#settle(claim, null);
    else {
      const state = this.#targets.of(account, delivery.url);
      if (!isLook && state.isFull(this.room.free)) this.#line.put(state, claim);
      else this.#dispatch(inHand(claim, record, state, delivery, isLook));
    }
  }

  #dispatch(job: InHand): void {
    this.#jobs.set(job.claim.due.delivery, job);
    job.state.inHand += 1;
    const { after } = job;
    if (after !== null && this.#isUnderWay(after)) {
      const waiting = this.#waiting.get(after);
      if (waiting === undefined) this.#waiting.set(after, [job]);
      else waiting.push(job);
      return;
    }
    void this.#start(job);
  }

  #isUnderWay(delivery: string): boolean {
    const job = this.#jobs.get(delivery);
    return job !== undefined && job.record.attempts.length === 0 && !this.#ended.has(delivery);
  }

  async #start(job: InHand): Promise<void> {
    const { directory, sender, now, aheadOfSender, onTrouble } = this.#options;
    const { account, url } = job.state.target;
    try {
      const mayStart = this.#mayStart(job);
      if (!(mayStart instanceof Promise ? await mayStart : mayStart)) return this.#notYet(job);
      const known = directory.secrets(account, url);
      let secrets = known instanceof Promise ? await known : known;
      // What is remembered may be from before the URL was put back: nothing dies by it.
      if (secrets.length === 0) secrets = await directory.secretsAnew(account, url);
      if (secrets.length > 0) return sender.send([sendOf(job, secrets, aheadOfSender?.() ?? 0)]);
      const record = urlRemoved(job.record, now());
      this.#finish(job, record === null ? null : { record, next: null });
    } catch (error) {
      onTrouble(error);
      job.state.choked();
      this.#goBehind(job);
    }
  }

  #mayStart({ after, claim }: InHand): Soon<boolean> {
    const isKnown = after === null || this.#ended.has(after) || this.#jobs.has(after);
    return isKnown ? true : hasBegun(this.#options.journal, claim.due.transaction, after);
  }

  #results(results: readonly SendResult[]): void {
    for (const result of results) {
      const job = this.#jobs.get(result.token);
      if (job === undefined) continue;
      const { state } = job;
      const wasChoked = state.isChoked;
      if (result.kind === 'putOff') state.choked();
      else state.attempted(result.error);
      if (result.kind === 'putOff') this.#goBehind(job);
      else this.#attempted(job, result);
      if (wasChoked && !state.isChoked && !state.isLookedAfter) void this.#line.lookNow(state);
    }
  }

  #attempted(job: InHand, result: Attempted): void {
    const { now, retryScale } = this.#options;
    const { statusCode, error } = result;
    const at = textOfTime(result.at);
    const attempt = { at, statusCode, error, durationMs: Math.round(result.durationMs) };
    const record = attempted(job.record, attempt, result.retryAfterMs, retryScale, now());
    const next: Due | null =
      record.nextAttemptAt === null
        ? null
        : dueAgain(job.claim.due, timeOfText(record.nextAttemptAt), record.failures);
    this.#options.onAttempt?.(record, attempt.durationMs, job.state.target);
    this.#finish(job, { record, next });
  }

  /** The attempt is over, or there was nothing to attempt: whoever waited for it may start. */
  #finish(job: InHand, outcome: { record: DeliveryRecord; next: Due | null } | null): void {
    const { claim } = job;
    this.#ended.set(claim.due.delivery, true);
    if (outcome === null) this.#settle(claim, null);
    else {
      const { record, next } = outcome;
      this.#settle(claim, next, record, toTell(job, record, this.#options.now()));
    }
    job.state.ended();
    for (const next of this.#followersOf(job)) {
      if (next.state.isChoked) this.#goBehind(next);
      else void this.#start(next);
    }
  }

  /** Those that waited for its first attempt. */
  #followersOf({ claim }: InHand): InHand[] {
    const followers = this.#waiting.get(claim.due.delivery) ?? [];
    this.#waiting.delete(claim.due.delivery);
    return followers;
  }

  /** Back to the store without an attempt; what waited for it goes back as well. */
  #goBehind(job: InHand): void {
    this.#jobs.delete(job.claim.due.delivery);
    this.#line.put(job.state, job.claim);
    job.state.ended();
    for (const follower of this.#followersOf(job)) this.#goBehind(follower);
  }

  /** As `#goBehind`, where the one before is in other hands or in the due index: it must be found first. */
  #notYet(job: InHand): void {
    this.#jobs.delete(job.claim.due.delivery);
    this.#putOff(job.claim, NOT_YET_MS * 2 ** Math.min(job.claim.due.tries, 4));
    job.state.ended();
    for (const follower of this.#followersOf(job)) this.#notYet(follower);
  }

  #putOff(claim: ClaimOf<'delivery'>, delayMs: number): void {
    this.#settle(claim, postponed(claim.due, delayMs, this.#options.now()));
  }

  /** All parts are written out: to add one to an object that was put together takes Node 20 ten times as long. */
  #settle(claim: ClaimOf<'delivery'>, next: Due | null, record?: DeliveryRecord, told: ToTell = {}): void {
    const { attention, counted, withdrawn } = told;
    const settlement = { claim, next, record, attention, counted, withdrawn, clock: this.#options.now() };
    this.#settler.settleThen(settlement, (isWritten) => this.#recorded(claim, told, isWritten));
  }

  #recorded(claim: ClaimOf<'delivery'>, { attention, counted }: ToTell, isWritten: boolean): void {
    // What could not be recorded stays in the store: whoever comes next attempts again, at least once.
    if (isWritten && attention !== undefined) this.#options.onDead?.(attention);
    if (isWritten && counted !== undefined) this.#options.onRejected?.(counted);
    this.room.release(1);
    if (this.#jobs.get(claim.due.delivery)?.claim === claim) this.#jobs.delete(claim.due.delivery);
  }

  /** Takes nothing more, ends the attempts under way, records them. */
  async close(): Promise<void> {
    this.#reader.close();
    await this.#options.sender.close();
    await this.#line.close();
    await this.#settler.idle();
  }
}
