/**
 * Random work on the store, killed again and again between log and projections: what comes up says what was said before.
 * The same seed gives the same work; when the projections are written is the machine's affair.
 */
import { randomUUID } from 'node:crypto';
import { cp, stat } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import type { Entry, TransactionRecord } from '../../../src/engine/journal.ts';
import { type Claim, DUE_KINDS, type Due, isOf } from '../../../src/engine/store/due.ts';
import { itemOf, type Settlement, type Store } from '../../../src/engine/store.ts';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import { randomOf, withFolder } from '../../faults/scene.ts';
import { sleep } from '../../support/wait.ts';
import {
  adjusted,
  cashoutCreated,
  cashoutMoved,
  chargeCreated,
  chargePaid,
  deliveryRecord,
  grow,
  iso,
  refused,
  settings,
} from '../contract/builders.ts';
import { drain, lookupsOf } from '../contract/harness.ts';
import { storeOptions } from './opened.ts';

const test = suite('kills between log and projections');

const SEED = 20_261_122;
const ROUNDS = 12;
const STEPS = 60;
const AT = Date.UTC(2026, 0, 5, 12);
const URLS = ['https://a.example/hook', 'https://b.example/hook'];

class Work {
  readonly accounts = Array.from({ length: 5 }, () => randomUUID());
  readonly #random = randomOf(SEED);
  readonly #known: string[] = [];
  readonly #noted: string[] = [];
  #at = AT;

  get now(): number {
    return this.#at;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #one<Value>(values: readonly Value[]): Value {
    const value = values[this.#below(values.length)];
    if (value === undefined) throw new Error('nothing to choose from');
    return value;
  }

  async step(store: Store): Promise<void> {
    this.#at += 1 + this.#below(200);
    const kinds = [
      ...([() => this.#create(store), () => this.#create(store), () => this.#change(store)] as const),
      ...([() => this.#settle(store), () => this.#settle(store), () => this.#note(store)] as const),
      ...([() => this.#configure(store), () => this.#behind(store), () => this.#park(store)] as const),
    ];
    await this.#one(kinds)();
  }

  /** Creations of several accounts, which travel together. */
  async #create(store: Store): Promise<void> {
    const at = this.#at;
    const work = this.accounts.slice(0, 1 + this.#below(this.accounts.length)).map(async (account) => {
      const entries: Entry[] = [];
      for (let count = 1 + this.#below(3); count > 0; count--) {
        const parts = {
          urls: URLS.slice(this.#below(3)),
          timers: [{ name: 'EXPIRE', at: iso(at + this.#below(20_000)) }],
          orders: [{ kind: 'wake' as const, step: 0, at: iso(at + this.#below(2_000)) }],
        };
        const id = randomUUID();
        const isCharge = this.#below(2) === 0;
        entries.push(
          isCharge
            ? chargeCreated(at, { ...parts, id, externalRef: `ref ${this.#below(5)}` })
            : cashoutCreated(at, { ...parts, id, idempotencyKey: randomUUID() }),
        );
        this.#known.push(id);
      }
      if (this.#below(4) === 0) entries.push(adjusted(at, 100));
      const claimUntil = this.#below(2) === 0 ? at : 0;
      const { claims } = await grow(store, account, entries, { claimUntil });
      await this.#giveBack(store, claims);
    });
    await Promise.all(work);
  }

  async #giveBack(store: Store, claims: readonly Claim[]): Promise<void> {
    await store.due.settle(claims.map((claim) => ({ claim, next: claim.due })));
  }

  async #change(store: Store): Promise<void> {
    if (this.#known.length === 0) return;
    const id = this.#one(this.#known);
    const record = await store.journal.transaction(id);
    if (record === null) throw new Error(`there is no ${id}`);
    const known: TransactionRecord[] = [record];
    const { value } = record.snapshot;
    const at = this.#at;
    const entry =
      record.type === 'cashout'
        ? cashoutMoved(at, id, value, this.#one(['processing', 'completed']), { reference: randomUUID() })
        : this.#below(2) === 0
          ? chargePaid(at, id, randomUUID())
          : refused(at, id, value, randomUUID());
    await grow(store, record.account, [entry], { known });
  }

  /** Ends some of what is due, as those would who had it in hand. */
  async #settle(store: Store): Promise<void> {
    const claims: Claim[] = await store.due.claim(this.#one(DUE_KINDS), this.#at, 20);
    await store.due.settle(claims.map((claim) => this.#settlement(claim)));
  }

  #settlement(claim: Claim): Settlement {
    const at = this.#at;
    const { due } = claim;
    if (!isOf(claim, 'delivery'))
      return { claim, next: this.#below(3) === 0 ? { ...due, at: at + 500, tries: due.tries + 1 } : null };
    const record = deliveryRecord(due.account, due.transaction, at, claim.due.delivery);
    switch (this.#below(3)) {
      case 0:
        return { claim, next: null, record: { ...record, status: 'delivered', nextAttemptAt: null } };
      case 1:
        return { claim, next: { ...due, at: at + 1_000, tries: due.tries + 1 }, record };
      default: {
        const { delivery: id } = claim.due;
        const item = itemOf({ kind: 'dead', id, what: 'w', next: 'n' }, iso(at), { account: due.account });
        this.#noted.push(id);
        const dead = { ...record, status: 'dead' as const, nextAttemptAt: null };
        return { claim, next: null, record: dead, attention: item };
      }
    }
  }

  async #note(store: Store): Promise<void> {
    const id = randomUUID();
    const item = itemOf({ kind: 'dead', id, what: 'w', next: 'n' }, iso(this.#at));
    this.#noted.push(id);
    const other = { kind: 'dead' as const, id: this.#one(this.#noted) };
    await Promise.all([
      store.attention.note([item]),
      this.#below(2) === 0 ? store.attention.dismiss([other]) : store.attention.withdraw([other]),
    ]);
  }

  async #configure(store: Store): Promise<void> {
    const id = this.#one(this.accounts);
    const before = await store.accounts.get(id);
    const version = (before?.version ?? 0) + 1;
    await store.accounts.put(settings({ id, version, clientId: `client ${id} ${this.#below(3)}` }));
    await store.marks.putMark('last', id);
  }

  async #behind(store: Store): Promise<void> {
    const claims = await store.due.claim('delivery', this.#at, 5);
    for (const claim of claims) {
      const target = { account: claim.due.account, url: this.#one(URLS) };
      await store.backlog.put([{ target, claims: [claim], lookAt: this.#at }]);
    }
    for (const target of await store.backlog.claimLooks(this.#at, 1)) {
      const { claims: taken } = await store.backlog.take(target, this.#at, 3);
      await this.#giveBack(store, taken);
      await store.backlog.lookAgain(target, this.#at);
    }
  }

  async #park(store: Store): Promise<void> {
    await store.due.park(await store.due.claim('timer', this.#at, 2));
    if (this.#below(3) === 0) await store.due.unpark(this.#at);
  }
}

/** What must be the same to the byte. */
async function kept(store: Store, { accounts }: Work): Promise<string> {
  const records = await store.journal.records('', 100_000);
  const said = await Promise.all([
    store.journal.accountIds('', 1_000),
    ...accounts.map((account) => store.journal.head(account)),
    ...accounts.map((account) => store.journal.batchesFrom(account, 1, 10_000)),
    ...accounts.map((account) => lookupsOf(store, account)),
    ...accounts.map((account) => store.accounts.get(account)),
    ...records.map(({ id }) => store.journal.deliveries(id)),
    ...records.map(({ id }) => store.journal.refusals(id, 0, 1_000)),
    store.attention.page({}, null, 100_000),
    store.attention.counts(),
    store.journal.waiting('cashout', null, '9999', 100_000),
    store.marks.mark('last'),
  ]);
  return canonicalJson([records, said]);
}

/** By what a thing that is due is known: when it comes may be told anew by a kill. */
function nameOf(due: Due): string {
  const own = due.kind === 'timer' ? due.name : due.kind === 'bank' ? due.order.kind : due.delivery;
  return `${due.kind} ${due.transaction} ${own}`;
}

/** Takes out all that is due, ever. */
async function dueIn(store: Store): Promise<Set<string>> {
  const due: Due[] = [];
  await store.due.unpark(AT);
  for (const target of await store.backlog.targets('', 1_000))
    due.push(...(await store.backlog.take(target, AT, 100_000)).claims.map((claim) => claim.due));
  for (const kind of DUE_KINDS)
    due.push(...(await drain(store, kind, AT + 86_400_000, 1_000)).map((claim) => claim.due));
  // What has ended may be there still, as a hint: whoever claims it looks at the records first.
  const isToCome = await Promise.all(
    due.map(async (each) => {
      if (each.kind === 'timer')
        return ((await store.journal.transaction(each.transaction))?.timers ?? []).length > 0;
      if (each.kind === 'bank') return true;
      const progress = await store.journal.deliveries(each.transaction);
      const status = progress.find(({ id }) => id === each.delivery)?.status;
      return status === undefined || status === 'retrying';
    }),
  );
  return new Set(due.filter((_, index) => isToCome[index]).map(nameOf));
}

/** What a kill leaves now. */
async function remainsOf(folder: string, remains: string): Promise<void> {
  const written = async (): Promise<number> => (await stat(`${folder}/pixstate.projections`)).mtimeMs;
  for (let before = 0; before !== (await written()); ) {
    before = await written();
    for (const name of ['pixstate.projections', 'pixstate.log'])
      await cp(`${folder}/${name}`, `${remains}/${name}`);
  }
}

function opened(folder: string, work: Work): Promise<Store> {
  return openLmdbStore(storeOptions(folder, () => work.now));
}

/** Goes on in one folder after the other, each what a kill left of the one before. */
async function round(folder: string, work: Work, left: number): Promise<void> {
  if (left === 0) return;
  const store = await opened(folder, work);
  try {
    for (let step = 0; step < STEPS; step++) await work.step(store);
    // In some rounds all was written, in others much, or little.
    await sleep((left % 3) * 350);
    await withFolder(async (remains) => {
      await remainsOf(folder, remains);
      const expected = await kept(store, work);
      await withFolder(async (copy) => {
        await remainsOf(remains, copy);
        const after = await opened(copy, work);
        assert.ok((await kept(after, work)) === expected, `round ${left}: the same is said`);
        const [was, is] = [await dueIn(store), await dueIn(after)];
        assert.equal(
          [...was].filter((name) => !is.has(name)),
          [],
          `round ${left}: nothing due is lost`,
        );
        // A timer is ended by its message, and what only ended its row may come again.
        const again = [...is].filter((name) => !was.has(name) && !name.startsWith('timer'));
        assert.equal(again, [], `round ${left}: nothing that was done comes again`);
        await after.close();
      });
      await round(remains, work, left - 1);
    });
  } finally {
    await store.close();
  }
}

test(`${ROUNDS} kills amid random work lose nothing and do nothing again`, async () => {
  await withFolder((folder) => round(folder, new Work(), ROUNDS));
});

test.run();
