/**
 * Holds the journal against the model, the answers against the journal, and the projections against a replay.
 * Throws at the first thing that must not be.
 */
import type { Account } from '../../src/domain/account.ts';
import { parseEventOrDeliveryId } from '../../src/domain/events.ts';
import { cashoutFee } from '../../src/domain/fees.ts';
import type { Answer } from '../../src/engine/commands.ts';
import { digestOf } from '../../src/engine/store/content.ts';
import { EXPIRY_GRACE_S } from './bank/opened.ts';
import { type Known, Model, type Timeline } from './model.ts';
import { must } from './must.ts';
import type { Did, Operation, Request } from './operations.ts';
import type { Surroundings } from './process.ts';
import { compareProjections } from './projections.ts';

/** What happens to one of the accounts. */
export type AccountSurroundings = Surroundings & { account: Account };

const ENDED: ReadonlySet<string> = new Set(['delivered', 'rejected', 'dead']);

type Asked<Kind extends Request['kind']> = Request & { kind: Kind };

export function timelineOf({ decidedAt, clock, counterparty, history }: Surroundings): Timeline {
  return {
    graceMs: counterparty === null ? 0 : EXPIRY_GRACE_S * 1_000,
    decidedAt: ({ id }) => decidedAt.get(id) ?? 0,
    webhooksAt: (account, at) => history.around(account, at).map(({ webhooks }) => webhooks),
    forwardBetween: (from, to) => clock.forwardBetween(from, to),
  };
}

export class Auditor {
  readonly model: Model;
  readonly #around: AccountSurroundings;
  readonly #operations: readonly Operation[];
  readonly #byTag = new Map<string, Known>();
  /** Dead deliveries that ops are done with. */
  readonly #doneWith = new Set<string>();
  #judged = 0;

  constructor(around: AccountSurroundings, operations: readonly Operation[]) {
    this.#around = around;
    this.#operations = operations;
    const mayBeNegative = (id: string): boolean =>
      operations.some(
        ({ request }) => request.kind === 'adjust' && request.id === id && request.allowNegative,
      );
    this.model = new Model(around.account, mayBeNegative, timelineOf(around));
  }

  /** All that can be looked at while things go on. */
  audit(): void {
    this.#readJournal();
    this.#judgeAnswers();
  }

  /** All that must be true once clocks are right, no fault happens and no URL hangs any more. */
  auditEnd(): void {
    this.audit();
    must(this.#judged === this.#operations.length, 'an operation never came to an end');
    compareProjections(this.#around.stored, this.#around.account, this.model);
    this.#nothingWaits();
    this.#opsWereTold();
    for (const [id, after] of this.model.deliveries) this.#judgeDelivery(id, after);
  }

  /** Whatever hangs: what goes to a URL that answers has come to its end. */
  auditPunctuality(): void {
    this.audit();
    for (const id of this.#openDeliveries(({ url }) => !this.#around.receivers.isHanging(url)))
      throw new Error(`the delivery ${id} waits for another URL`);
  }

  #readJournal(): void {
    const { stored, account } = this.#around;
    for (const batch of stored.journal(account.id, this.model.seq + 1, Number.POSITIVE_INFINITY)) {
      this.model.take(batch);
      for (const { transaction, message } of batch.entries) {
        const known = message.type === 'CREATE' ? this.model.transactions.get(transaction ?? '') : undefined;
        if (known === undefined || known.tag === null) continue;
        must(!this.#byTag.has(known.tag), `${known.tag} created two transactions`);
        this.#byTag.set(known.tag, known);
      }
    }
  }

  /** In the order in which they were asked; one that is still open holds up those behind it. */
  #judgeAnswers(): void {
    for (
      let operation = this.#operations[this.#judged];
      operation?.result;
      operation = this.#operations[this.#judged]
    ) {
      try {
        this.#judge(operation);
      } catch (error) {
        const asked = JSON.stringify([operation.request, operation.result]);
        throw new Error(`operation ${operation.number}: ${(error as Error).message}\n  ${asked}`);
      }
      this.#judged += 1;
    }
  }

  #judge(operation: Operation): void {
    const { request, result } = operation;
    if (result === null) return;
    const created =
      request.kind === 'charge' || request.kind === 'transfer' ? this.#byTag.get(request.tag) : undefined;
    if (result.kind === 'did') {
      if (request.kind === 'ops') this.#judgeOps(request, result.did);
      return;
    }
    if (result.kind !== 'answered') {
      must(result.kind === 'unknown' || created === undefined, `${result.kind}, but it took effect`);
      return;
    }
    const { answer } = result;
    must(answer.kind !== 'quarantined', 'a snapshot could not be read');
    if (request.kind === 'ops' || request.kind === 'returnAgain') throw new Error('ops got no such answer');
    if (request.kind === 'charge') this.#judgeCharge(request, answer, created);
    else if (request.kind === 'transfer') this.#judgeTransfer(operation, request, answer, created);
    else if (request.kind === 'adjust') this.#judgeAdjustment(operation, request, answer);
    else if (request.kind === 'act') this.#judgeAct(request, answer);
    else if (request.kind === 'message') this.#judgeMessage(request, answer);
    else this.#judgeOrder(request, answer);
  }

  /** I5: what was answered 2xx is there. */
  #judgeCharge({ amount, key }: Asked<'charge'>, answer: Answer, created: Known | undefined): void {
    if (answer.kind === 'duplicateKey') {
      this.#judgeDuplicate('pix-in', key, answer, created);
      return;
    }
    must(
      answer.kind === 'applied' && created?.id === answer.record.id,
      'a charge that was answered is not there',
    );
    const isIt = created.amount === amount && created.key === key && created.kind === 'pix-in';
    must(isIt, 'it is another charge');
  }

  #judgeDuplicate(
    kind: string,
    key: string | null,
    { transaction }: Answer & { kind: 'duplicateKey' },
    created: Known | undefined,
  ): void {
    must(created === undefined, 'its key exists, but it was created');
    const isOwner = key !== null && this.model.keys.get(`${kind} ${key}`) === transaction;
    must(isOwner, 'the key belongs to another one');
  }

  #judgeTransfer(
    operation: Operation,
    request: Asked<'transfer'>,
    answer: Answer,
    created: Known | undefined,
  ): void {
    const { key, amount } = request;
    if (answer.kind === 'applied') {
      must(created?.id === answer.record.id, 'a cashout that was answered is not there');
      must(created.amount === amount && created.key === key, 'it is another cashout');
      return;
    }
    if (answer.kind === 'duplicateKey') {
      this.#judgeDuplicate('cashout', key, answer, created);
      return;
    }
    must(created === undefined, `${answer.kind}, but it was created`);
    must(answer.kind === 'insufficientBalance', `a cashout was answered ${answer.kind}`);
    const needed = amount + cashoutFee(this.#around.account.fees, amount);
    const lowest = this.#lowestDuring(operation);
    must(lowest < needed, `the balance was never below ${needed}: at least ${lowest}`);
  }

  /** The lowest balance that anybody could see between the question and the answer. */
  #lowestDuring({ seqBefore, seqAfter }: Operation): number {
    const lows = this.model.balances.slice(seqBefore + 1, seqAfter + 1).map(({ lowest }) => lowest);
    return Math.min(this.model.balances[seqBefore]?.after ?? 0, ...lows);
  }

  #judgeAdjustment(operation: Operation, { id, amount }: Asked<'adjust'>, answer: Answer): void {
    const applied = this.model.adjustments.get(id);
    if (answer.kind === 'adjusted') {
      must(applied === amount, 'an adjustment that was answered is not there');
      return;
    }
    must(answer.kind === 'notAdjusted', `an adjustment was answered ${answer.kind}`);
    const isTaken = applied !== undefined && applied !== amount;
    must(isTaken || this.#lowestDuring(operation) + amount < 0, 'the balance would have sufficed');
  }

  #judgeAct({ id, asked }: Asked<'act'>, answer: Answer): void {
    const known = this.model.actions.get(id);
    if (answer.kind === 'acted') must(known === asked, 'an act that was answered has no entry');
    else must(answer.kind === 'notActed' && known !== asked, `an act was answered ${answer.kind}`);
  }

  /** What ops were told is done has its entry, and a change of settings was made once. */
  #judgeOps({ id, act }: Asked<'ops'>, did: Did): void {
    if (did === 'nothing') return;
    const isOfAccount = act === 'settings' || act === 'rotate';
    if (!isOfAccount) return;
    must(this.model.actions.has(id), 'what ops did has no entry');
    const times = this.#around.history.madeBy(this.#around.account.id, id);
    must(times === 1, `the change was made ${times} times`);
  }

  #judgeOrder(request: Asked<'refund'> | Asked<'cancel'>, answer: Answer): void {
    const known = this.model.transactions.get(request.transaction);
    must(known !== undefined, 'a transaction that was answered is gone');
    must(
      (answer.kind === 'unknown') === (known.kind === 'cashout'),
      'only charges are refunded and canceled',
    );
    if (request.kind === 'cancel') {
      const isCanceled = answer.kind === 'applied' || answer.kind === 'repeated';
      must(!isCanceled || known.status === 'canceled', 'a charge that was canceled is not');
      return;
    }
    if (answer.kind !== 'applied' && answer.kind !== 'duplicateKey') return;
    const made = answer.kind === 'applied' ? request.transaction : answer.transaction;
    if (request.ops !== null) {
      must(answer.kind === 'applied' && known.applied.has(request.ops), 'a refund of ops has no entry');
      return;
    }
    const hasKey = request.key !== null && this.model.refundKeys.get(request.key) === made;
    must(hasKey || (request.key === null && answer.kind === 'applied'), 'the key is not that of the refund');
  }

  #isKnownPart(known: Known, { type, data }: Asked<'message'>): boolean {
    if (type === 'RETURN') return this.model.returns.get(String(data.returnId)) === data.amount;
    if (type === 'REFUND' || type === 'CHARGEBACK') return known.parts.hasCounted(data.returnId);
    const isOutcome = type === 'REFUND_DONE' || type === 'REFUND_FAILED';
    return isOutcome && known.parts.hasEnded(String(data.refundId), type);
  }

  #judgeMessage(request: Asked<'message'>, answer: Answer): void {
    const { transaction, id, type, data } = request;
    const known = this.model.transactions.get(transaction);
    must(known !== undefined && answer.kind !== 'unknown', 'a transaction that was answered is gone');
    const digest = digestOf(type, data);
    const said = id === null ? null : `${id} ${digest}`;
    if (answer.kind === 'applied')
      must(id === null || known.applied.get(id) === digest, 'it was not applied');
    else if (answer.kind === 'repeated') {
      const isKnownPayment = known.payments.has(String(data.endToEndId));
      const isLateStart = type === 'START' && known.startImplied;
      must(
        (id !== null && known.applied.get(id) === digest) ||
          isKnownPayment ||
          isLateStart ||
          this.#isKnownPart(known, request),
        'it is no repeat',
      );
    } else {
      must(answer.kind === 'refused' || answer.kind === 'invalid', `a message was answered ${answer.kind}`);
      must(said === null || known.refused.has(said), 'a refusal left no record');
    }
  }

  /** Nothing that was due was lost, or waits for a wrong time to come: timers fired, orders went out. */
  #nothingWaits(): void {
    const isSandbox = this.#around.counterparty === null;
    for (const known of this.model.transactions.values()) {
      must(known.status !== 'waiting_payment', `${known.id} waits past its expiry`);
      // 07: the sandbox bank never says anything. 06: it stays silent about a refund, and after a start.
      const isSilent = (amount: number, ending: number): boolean => isSandbox && amount % 100 === ending;
      const { id: payout, status, amount: sent } = known;
      must(status !== 'pending' || isSilent(sent, 7), `the payout of ${payout} was lost`);
      must(isSandbox || status !== 'processing', `the payout of ${payout} was lost`);
      for (const { id, amount } of known.parts.pending)
        must(isSilent(amount, 6), `the refund ${id} was lost`);
    }
    for (const id of this.#openDeliveries(() => true)) throw new Error(`the delivery ${id} was lost`);
  }

  #openDeliveries(isMeant: (webhook: { url: string }) => boolean): string[] {
    const { stored, account } = this.#around;
    const records = [...this.model.transactions.keys()].flatMap((id) => stored.deliveries(id));
    const ended = new Set(records.filter(({ status }) => ENDED.has(status)).map(({ id }) => id));
    return stored
      .journal(account.id, 1, Number.POSITIVE_INFINITY)
      .flatMap(({ entries }) => entries.flatMap(({ events }) => events))
      .flatMap(({ deliveries }) => deliveries)
      .filter((delivery) => isMeant(delivery) && !ended.has(delivery.id))
      .map(({ id }) => id);
  }

  /** What waits for the bank too long, and what is dead, is on the list for ops. */
  #opsWereTold(): void {
    const { stored, account } = this.#around;
    const told = new Set(stored.listed({ account: account.id }, null).map(({ kind, id }) => `${kind} ${id}`));
    for (const { id, kind, status, parts } of this.model.transactions.values()) {
      for (const refund of parts.pending)
        must(
          told.has(`stuck ${refund.id}`) || this.#isDone(refund.id, id),
          `the refund ${refund.id} is pending, and nobody was told`,
        );
      const isOpen = kind === 'cashout' && (status === 'pending' || status === 'processing');
      const isTold = told.has(`stuck ${id}`) || (isOpen && this.#isDone(id, id));
      must(isOpen === isTold, `${id} is ${status}, and stuck is ${!isOpen}`);
    }
    this.#judgeDead();
  }

  /** Ops know of each delivery that is dead, and then they are done with them: each costs looks as long as it is listed. */
  async auditDead(): Promise<void> {
    const { stored, stores, account } = this.#around;
    this.audit();
    this.#judgeDead();
    const items = stored.listed({ account: account.id, kind: 'dead' }, null);
    await stores.withdraw(items);
    for (const { id } of items) this.#doneWith.add(id);
  }

  #judgeDead(): void {
    const { stored, account } = this.#around;
    const told = new Set(stored.listed({ account: account.id, kind: 'dead' }, null).map(({ id }) => id));
    for (const transaction of this.model.transactions.keys())
      for (const { id, status } of stored.deliveries(transaction)) {
        // Whoever starts one anew may die before its item is gone: while it is rejected, that stays.
        if (status === 'rejected') continue;
        const isDead = status === 'dead';
        // What ops are done with is forgotten: it is news once it dies again.
        const isTold = told.has(id) || (isDead && this.#mayBeDone(id));
        must(isDead === isTold, `${id} is ${status}, and ops were told ${isTold}`);
      }
  }

  /** Whether ops are done with what is stuck, a transaction or a part of it, as it stands. */
  #isDone(id: string, transaction: string): boolean {
    const { stored } = this.#around;
    const since = stored.transaction(transaction)?.updatedAt ?? '';
    return stored.dismissed([id, `${id}@${since}`]).some((isDismissed) => isDismissed);
  }

  /** Whether a delivery's URL was off its account at some time. */
  #wasOff(id: string): boolean {
    const { account, history, stored } = this.#around;
    const { url } = stored
      .journal(account.id, 1, Number.POSITIVE_INFINITY)
      .flatMap(({ entries }) => entries.flatMap(({ events }) => events))
      .flatMap(({ deliveries }) => deliveries)
      .find((delivery) => delivery.id === id) ?? { url: '' };
    return history.wasOff(account.id, url);
  }

  /** Whether ops were, or may have been, done with the item of a dead delivery. */
  #mayBeDone(id: string): boolean {
    if (this.#doneWith.has(id)) return true;
    return this.#operations.some(
      ({ request }) =>
        request.kind === 'ops' &&
        request.act === 'done' &&
        (request.ids?.includes(id) === true ||
          (request.ids?.length === 0 && request.filter?.kind === 'dead')),
    );
  }

  /** What is recorded of a delivery is what its URL saw, and it began after the one before had been attempted. */
  #judgeDelivery(id: string, after: string | null): void {
    const { stored, receivers } = this.#around;
    const seen = receivers.seen.get(id) ?? [];
    const transaction = parseEventOrDeliveryId(id)?.transaction ?? '';
    const record = stored.deliveries(transaction).find((each) => each.id === id);
    must(record !== undefined, `${id} has no record`);
    const told = seen.filter(({ ended }) => ended !== null).map(({ statusCode }) => statusCode);
    for (const { statusCode } of record.attempts) {
      const index = told.indexOf(statusCode);
      must(index >= 0, `an attempt of ${id} was invented: ${statusCode}`);
      told.splice(index, 1);
    }
    const last = record.attempts.at(-1)?.statusCode ?? 0;
    must(record.attempts.length > 0 || this.#wasOff(id), `${id} ended without an attempt`);
    must((record.status === 'delivered') === (last >= 200 && last < 300), `${id} is ${record.status}`);
    const began = Math.min(...seen.map((each) => each.began));
    const before = after === null ? [] : (receivers.seen.get(after) ?? []);
    // One whose URL was off the account when its turn came was never attempted, or only once ops had it tried again.
    const isInOrder =
      after === null ||
      seen.length === 0 ||
      before.some(({ ended }) => ended !== null && ended < began) ||
      this.#wasOff(after);
    must(isInOrder, `${id} was attempted before ${after}`);
  }
}
