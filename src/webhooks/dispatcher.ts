/**
 * Owns the deliveries in hand: from their claim to the record of their attempt. What is fresh from its commit
 * comes with its payload; what a sweep claimed is read from the store and the journal.
 *
 * 1. Delivery n + 1 of a transaction to a URL starts once the first attempt of n has ended.
 * 2. Every claim ends in a settlement: with a record where there was an attempt, without one where it was
 *    put off. What dies with the process is found again by its claim.
 * 3. What is in hand is bounded; the rest waits in the store.
 */
import type { Directory } from '../accounts/directory.ts';
import { webhookPayload } from '../domain/webhook-payload.ts';
import type { Committed } from '../engine/actor.ts';
import { Room, Settler } from '../engine/claims.ts';
import { BatchReader, deliveriesOf, historyOf } from '../engine/history.ts';
import type {
  AttentionItem,
  ClaimOf,
  DeliveryRecord,
  Due,
  DueIndex,
  JournalReads,
  Settlement,
} from '../engine/store.ts';
import { attempted, newDelivery, urlRemoved, wantsAttempt } from './delivery.ts';
import { deadLetter, type InHand, inHand, sendOf } from './in-hand.ts';
import type { Attempted, SendResult, WebhookSender } from './sender/port.ts';

export interface DispatcherOptions {
  journal: JournalReads;
  due: DueIndex;
  directory: Directory;
  sender: WebhookSender;
  now(): number;
  /** `WEBHOOK_RETRY_SCALE`. */
  retryScale: number;
  /** Something went wrong; what it was about is found again. */
  onTrouble(error: unknown): void;
  onAttempt?(record: DeliveryRecord, durationMs: number): void;
  /** A delivery is dead: its item is stored with its record. */
  onDead?(item: AttentionItem): void;
}

const MAX_IN_HAND = 4_096;
/** Transactions whose history is read at the same time. */
const READ_TOGETHER = 16;
/** The delivery before is in other hands: look again after so long. */
const NOT_YET_MS = 250;

export class Dispatcher {
  /** For how many more deliveries there is room. */
  readonly room = new Room(MAX_IN_HAND);
  readonly #options: DispatcherOptions;
  /** By delivery id: their first attempt hasn't ended, or isn't recorded yet. */
  readonly #jobs = new Map<string, InHand>();
  /** Jobs that wait for the first attempt of another, by that one's id. */
  readonly #waiting = new Map<string, InHand[]>();
  /** First attempts that ended but aren't recorded yet. */
  readonly #ended = new Set<string>();
  readonly #settler: Settler;
  readonly #settling = new Set<Promise<void>>();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#settler = new Settler(options.due, (error) => options.onTrouble(error));
    options.sender.onResults((results) => this.#results(results));
  }

  /** Takes up what a batch made due: nothing is read, the batch has it all. */
  dispatchFresh({ account, taken }: Committed, claims: ReadonlyMap<string, ClaimOf<'delivery'>>): void {
    this.room.occupy(claims.size);
    for (const { entry, record } of taken) {
      if (record === null) continue;
      for (const event of entry.events) {
        if (event.deliveries.length === 0) continue;
        const named = { id: event.id, name: event.name };
        const body = JSON.stringify(webhookPayload(named, entry.at, record));
        for (const { id, url, after } of event.deliveries) {
          const claim = claims.get(id);
          if (claim === undefined) continue;
          const fresh = newDelivery(id, account, record.id);
          this.#dispatch({ claim, record: fresh, url, after, event: named, body });
        }
      }
    }
  }

  /** Takes up what a sweep claimed: reads what each was about and where it stands. */
  async dispatchClaimed(claims: readonly ClaimOf<'delivery'>[]): Promise<void> {
    this.room.occupy(claims.length);
    const byTransaction = new Map<string, ClaimOf<'delivery'>[]>();
    for (const claim of claims) {
      const own = byTransaction.get(claim.due.transaction);
      if (own === undefined) byTransaction.set(claim.due.transaction, [claim]);
      else own.push(claim);
    }
    const reader = new BatchReader(this.#options.journal);
    const all = [...byTransaction];
    while (all.length > 0) {
      // Others get their turn: what was claimed may be a backlog.
      await new Promise(setImmediate);
      // A few at a time: a store behind a network answers them together.
      await Promise.all(all.splice(0, READ_TOGETHER).map(([id, own]) => this.#tryOf(id, own, reader)));
    }
  }

  async #tryOf(
    transaction: string,
    claims: readonly ClaimOf<'delivery'>[],
    reader: BatchReader,
  ): Promise<void> {
    try {
      await this.#dispatchOf(transaction, claims, reader);
    } catch (error) {
      this.#options.onTrouble(error);
      for (const claim of claims) this.#putOff(claim, 1_000 * (claim.due.tries + 1));
    }
  }

  async #dispatchOf(
    transaction: string,
    claims: readonly ClaimOf<'delivery'>[],
    reader: BatchReader,
  ): Promise<void> {
    const { journal, now } = this.#options;
    const record = await journal.transaction(transaction);
    const named = record === null ? [] : deliveriesOf(await historyOf(reader, record));
    const progress = new Map(
      (await journal.deliveries(transaction)).map((delivery) => [delivery.id, delivery]),
    );
    for (const claim of claims) {
      const { due } = claim;
      const delivery = named.find(({ id }) => id === due.delivery);
      const known = progress.get(due.delivery) ?? newDelivery(due.delivery, due.account, transaction);
      if (delivery !== undefined && this.#jobs.has(due.delivery)) {
        // An attempt is under way, perhaps on a claim that was lost meanwhile: this one stays until it ended.
        this.#putOff(claim, NOT_YET_MS);
        continue;
      }
      // A hint that is not true any more.
      if (delivery === undefined || !wantsAttempt(known, now() + (due.ahead ?? 0))) {
        this.#settle({ claim, next: null });
        continue;
      }
      this.#dispatch(inHand(claim, known, delivery));
    }
  }

  #dispatch(job: InHand): void {
    this.#jobs.set(job.claim.due.delivery, job);
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
    try {
      if (!(await this.#mayStart(job)))
        return this.#release(job, NOT_YET_MS * 2 ** Math.min(job.claim.due.tries, 4));
      const { directory, sender, now } = this.#options;
      const secrets = await directory.secrets(job.claim.due.account, job.url);
      if (secrets.length === 0) {
        const record = urlRemoved(job.record, now());
        return this.#finish(job, record === null ? null : { record, next: null });
      }
      sender.send([sendOf(job, secrets)]);
    } catch (error) {
      this.#options.onTrouble(error);
      this.#release(job, 1_000);
    }
  }

  async #mayStart({ after, claim }: InHand): Promise<boolean> {
    if (after === null || this.#ended.has(after) || this.#jobs.has(after)) return true;
    const records = await this.#options.journal.deliveries(claim.due.transaction);
    const before = records.find(({ id }) => id === after);
    return before !== undefined && (before.attempts.length > 0 || before.status === 'dead');
  }

  #results(results: readonly SendResult[]): void {
    for (const result of results) {
      const job = this.#jobs.get(result.token);
      if (job === undefined) continue;
      if (result.kind === 'putOff') this.#release(job, result.delayMs);
      else this.#attempted(job, result);
    }
  }

  #attempted(job: InHand, result: Attempted): void {
    const { now, retryScale } = this.#options;
    const at = new Date(result.at).toISOString();
    const attempt = {
      at,
      statusCode: result.statusCode,
      error: result.error,
      durationMs: Math.round(result.durationMs),
    };
    const record = attempted(job.record, attempt, result.retryAfterMs, retryScale, now());
    const next: Due | null =
      record.nextAttemptAt === null
        ? null
        : { ...job.claim.due, at: Date.parse(record.nextAttemptAt), tries: record.failures };
    this.#options.onAttempt?.(record, attempt.durationMs);
    this.#finish(job, { record, next });
  }

  /** The attempt is over, or there was nothing to attempt: whoever waited for it may start. */
  #finish(job: InHand, outcome: { record: DeliveryRecord; next: Due | null } | null): void {
    const settlement: Settlement & { claim: ClaimOf<'delivery'> } = {
      claim: job.claim,
      next: outcome?.next ?? null,
    };
    if (outcome !== null) settlement.record = outcome.record;
    if (outcome?.record.status === 'dead')
      settlement.attention = deadLetter(job, outcome.record, this.#options.now());
    this.#ended.add(job.claim.due.delivery);
    this.#settle(settlement);
    this.#startWaiting(job.claim.due.delivery);
  }

  #startWaiting(delivery: string): void {
    const waiting = this.#waiting.get(delivery);
    if (waiting === undefined) return;
    this.#waiting.delete(delivery);
    for (const job of waiting) void this.#start(job);
  }

  /** Back to the store without an attempt; what waited for it goes back as well. */
  #release(job: InHand, delayMs: number): void {
    this.#jobs.delete(job.claim.due.delivery);
    this.#putOff(job.claim, delayMs);
    const waiting = this.#waiting.get(job.claim.due.delivery) ?? [];
    this.#waiting.delete(job.claim.due.delivery);
    for (const follower of waiting) this.#release(follower, delayMs);
  }

  #putOff(claim: ClaimOf<'delivery'>, delayMs: number): void {
    const { due } = claim;
    this.#settle({ claim, next: { ...due, at: this.#options.now() + delayMs, tries: due.tries + 1 } });
  }

  #settle(settlement: Settlement & { claim: ClaimOf<'delivery'> }): void {
    const settling = this.#recorded(settlement, this.#settler.settle(settlement)).finally(() => {
      this.#settling.delete(settling);
    });
    this.#settling.add(settling);
  }

  async #recorded(
    { claim, attention }: Settlement & { claim: ClaimOf<'delivery'> },
    settled: Promise<boolean>,
  ): Promise<void> {
    // What could not be recorded stays in the store: whoever comes next attempts again, at least once.
    if ((await settled) && attention !== undefined) this.#options.onDead?.(attention);
    this.room.release(1);
    this.#ended.delete(claim.due.delivery);
    if (this.#jobs.get(claim.due.delivery)?.claim === claim) this.#jobs.delete(claim.due.delivery);
  }

  /** Takes nothing more, ends the attempts under way, records them. */
  async close(): Promise<void> {
    await this.#options.sender.close();
    await Promise.all(this.#settling);
  }
}
