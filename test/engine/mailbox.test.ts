/** The mailbox: bounded, and rid of what nobody waits for. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT as SETTINGS } from '../../scripts/simulation/accounts.ts';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import { Abandoned, Overloaded } from '../../src/engine/actors/host.ts';
import { MAILBOX_SIZE } from '../../src/engine/actors/mailbox.ts';
import { Room } from '../../src/engine/claims/room.ts';
import type { Head, TransactionRecord } from '../../src/engine/journal.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { Payments } from '../../src/engine/payments.ts';
import { contentOf, sha256 } from '../../src/engine/store/content.ts';
import type { Append } from '../../src/engine/store.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import { until } from '../support/wait.ts';
import { engineOn } from './on-store.ts';
import { charge, message, pay, uuid } from './support.ts';

const s = suite('mailbox');

const CHARGE = uuid(1);

/** A batch without entries that replaces a record: what no chart of today has written. */
function appendOf(head: Head, record: TransactionRecord): Append {
  const unhashed = {
    ...{ account: ACCOUNT, seq: head.seq + 1, id: 'planted', at: new Date(now()).toISOString() },
    ...{ entries: [], balances: head.balances, previous: head.hash },
  };
  const content = contentOf(unhashed);
  const batch = { ...unhashed, hash: sha256(content) };
  return {
    batch,
    content,
    records: [record],
    lookups: [],
    due: [],
    attention: [],
    withdrawn: [],
    claimUntil: 0,
  };
}

const ACCOUNT = 'acc_1';
const now = (): number => 1_800_000_000_000;

function opened() {
  const faults = new FaultPlan();
  const store = new MemoryStore({ incarnation: 'a', now, silentAfterMs: 5_000, faults });
  return { faults, store, engine: engineOn(store, now) };
}

const deposit = (id: number) => ({ id: String(id), amount: 1, reason: 'test', allowNegative: false });

s('it holds at least the burst of 5,000, and turns away what is more without losing any', async () => {
  assert.ok(MAILBOX_SIZE >= 5_000);
  const { engine, faults, store } = opened();
  const release = faults.hang('append');
  const first = adjust(engine, ACCOUNT, deposit(0));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const waiting = Array.from({ length: MAILBOX_SIZE }, (_, index) =>
    adjust(engine, ACCOUNT, deposit(index + 1)),
  );
  const beyond = await adjust(engine, ACCOUNT, deposit(99_999)).catch((error: unknown) => error);
  assert.instance(beyond, Overloaded);
  release();
  await Promise.all([first, ...waiting]);
  assert.is((await store.journal.head(ACCOUNT)).balances.available, MAILBOX_SIZE + 1);
});

s(
  'a batch has 512 commands at the most, and of heavy ones no more than fit; one that never fits goes alone',
  async () => {
    const { engine, store } = opened();
    const MIB = 1024 * 1024;
    let made = 0;
    /** How many entries each batch has of commands that come at once, of these weights in bytes. */
    const batchesOf = async (weights: number[]): Promise<number[]> => {
      const { seq } = await store.journal.head(ACCOUNT);
      const send = (weight: number): Promise<unknown> => {
        made += 1;
        return engine.send(ACCOUNT, { kind: 'adjust', ...deposit(made), digest: 'x' }, { weight });
      };
      await Promise.all(weights.map(send));
      const batches = await store.journal.batchesFrom(ACCOUNT, seq + 1, 100);
      return batches.map(({ entries }) => entries.length);
    };
    assert.equal(await batchesOf(Array.from({ length: 1_200 }, () => 1)), [512, 512, 176]);
    assert.equal(await batchesOf([3 * MIB, MIB, MIB, 1, 3 * MIB]), [1, 2, 1, 1]);
  },
);

s(
  'where others are first dozens of times it is decided again each time, and turned away at last',
  async () => {
    const { engine, faults, store } = opened();
    faults.stale(40);
    assert.is((await adjust(engine, ACCOUNT, deposit(0))).kind, 'adjusted');
    assert.is((await store.journal.head(ACCOUNT)).balances.available, 1);
    faults.stale(Number.POSITIVE_INFINITY);
    const never = await adjust(engine, ACCOUNT, deposit(1)).catch((error: unknown) => error);
    assert.instance(never, Overloaded);
    assert.is((await store.journal.head(ACCOUNT)).seq, 1);
  },
);

s('a transfer that is repeated is told of its first while the mailbox is full, and at the end', async () => {
  const { engine, faults, store } = opened();
  const bank = new SandboxBank(1);
  let ids = 0;
  const newId = (): string => uuid(++ids);
  const payments = new Payments({ engine, journal: store.journal, bank, now, newId, chargeExpiryS: 60 });
  const owner = { ...SETTINGS, id: ACCOUNT };
  const transfer = (idempotencyKey: string): Promise<string> => {
    const pixKey = { pixKeyType: 'EMAIL', pixKey: 'someone@example.com' } as const;
    const parts = { externalRef: null, description: null, metadata: {} };
    return payments.createTransfer(owner, { amount: 1_000, idempotencyKey, ...parts, ...pixKey }, {}).then(
      ({ kind }) => kind,
      (error: unknown) => (error instanceof Overloaded ? 'overloaded' : String(error)),
    );
  };
  await adjust(engine, ACCOUNT, { ...deposit(0), amount: 1_000_000 });
  assert.is(await transfer('first'), 'applied');
  const release = faults.hang('append');
  const held = adjust(engine, ACCOUNT, deposit(1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const waiting = Array.from({ length: MAILBOX_SIZE }, (_, index) =>
    adjust(engine, ACCOUNT, deposit(index + 2)),
  );
  assert.equal([await transfer('first'), await transfer('second')], ['duplicateKey', 'overloaded']);
  release();
  await Promise.all([held, ...waiting]);
  assert.equal([await transfer('first'), await transfer('second')], ['duplicateKey', 'applied']);
  await engine.drain(1_000);
  assert.equal([await transfer('second'), await transfer('third')], ['duplicateKey', 'overloaded']);
});

s('what nobody waits for is dropped while it is not decided, and takes no effect later', async () => {
  const { engine, faults, store } = opened();
  const release = faults.hang('append');
  const first = adjust(engine, ACCOUNT, deposit(1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  let left = false;
  const command = { kind: 'adjust', ...deposit(2), digest: 'x' } as const;
  const dropped = engine.send(ACCOUNT, command, { abandoned: () => left }).catch((error: unknown) => error);
  left = true;
  const last = adjust(engine, ACCOUNT, deposit(3));
  release();
  await Promise.all([first, last]);
  assert.instance(await dropped, Abandoned);
  assert.is((await store.journal.head(ACCOUNT)).balances.available, 2);
});

s('a failure in one command fails nobody else in its batch', async () => {
  const { engine, store } = opened();
  const broken = { kind: 'adjust', ...deposit(7), amount: Number.NaN, digest: 'x' } as const;
  const answers = await Promise.allSettled([
    adjust(engine, ACCOUNT, deposit(1)),
    engine.send(ACCOUNT, broken),
    adjust(engine, ACCOUNT, deposit(2)),
  ]);
  assert.equal(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.is((await store.journal.head(ACCOUNT)).balances.available, 2);
});

s(
  'what only a refusal asks for is read once one comes, and its batch is decided again as a whole',
  async () => {
    const { engine, faults, store } = opened();
    await engine.send(ACCOUNT, charge(CHARGE));
    const asked: string[][] = [];
    const { read } = store.journal;
    store.journal.read = (account, wants, last) => {
      asked.push(wants.lookups.map(({ name }) => name));
      return read(account, wants, last);
    };
    const refused = pay(CHARGE, 1, {}, 9_999);
    const held = [adjust(engine, ACCOUNT, deposit(1))];
    const told = [refused, { ...refused }, pay(CHARGE, 2), message(CHARGE, 'CANCEL'), { ...refused }];
    const answers = await Promise.all(told.map((sent) => engine.send(ACCOUNT, sent)));
    await Promise.all(held);
    assert.equal(
      answers.map(({ kind }) => kind),
      ['refused', 'refused', 'applied', 'refused', 'refused'],
    );
    const batches = await store.journal.batchesFrom(ACCOUNT, 2, 10);
    const entries = batches
      .flatMap((batch) => batch.entries)
      .filter(({ transaction }) => transaction !== null);
    assert.equal(
      entries.map(({ message: { type }, refusal }) => `${type} ${refusal === null}`),
      ['PAY false', 'PAY true', 'CANCEL false'],
    );
    const payments = Array.from({ length: 4 }, () => ['payment', 'returned']).flat();
    assert.equal(
      asked.at(-2)?.filter((name) => name !== 'adjustment'),
      payments,
    );
    assert.equal(
      asked.at(-1)?.filter((name) => name === 'refusal'),
      Array.from({ length: 4 }, () => 'refusal'),
    );
    asked.length = 0;
    const { kind } = await engine.send(ACCOUNT, message(CHARGE, 'CHARGEBACK'));
    assert.is(kind, 'applied');
    assert.equal(asked, [[]], 'a message that is taken asks for nothing');
    asked.length = 0;
    faults.stale(2);
    assert.is((await engine.send(ACCOUNT, message(CHARGE, 'CANCEL'))).kind, 'refused');
    const found = asked.map((names) => names.length);
    assert.equal(found, [0, 1, 1, 1], 'where another process was first, it is decided on no less');
  },
);

/** A charge whose snapshot no chart can read, beside an engine. */
async function withUnreadable() {
  const scene = opened();
  const { engine, store } = scene;
  await engine.send(ACCOUNT, charge(CHARGE));
  const head = await store.journal.head(ACCOUNT);
  const record = await store.journal.transaction(CHARGE);
  if (record === null) throw new Error('the charge is there');
  const unreadable = { ...record, snapshot: { ...record.snapshot, value: 'lost' } } as TransactionRecord;
  await store.journal.append(appendOf(head, unreadable));
  return scene;
}

s('who is told of an unreadable snapshot keeps nobody waiting, and is told once', async () => {
  const { engine, faults, store } = await withUnreadable();
  const told: string[] = [];
  engine.onAttention(({ kind, id }) => told.push(`${kind} ${id}`));
  const release = faults.hang('note');
  const [quarantined, adjusted] = await Promise.all([
    engine.send(ACCOUNT, message(CHARGE, 'CANCEL')),
    adjust(engine, ACCOUNT, deposit(1)),
  ]);
  assert.equal([quarantined.kind, adjusted.kind], ['quarantined', 'adjusted']);
  release();
  await engine.send(ACCOUNT, message(CHARGE, 'CANCEL'));
  assert.equal(told, [`quarantined ${CHARGE}`]);
  await until(async () => (await store.attention.page({}, null, 1_000)).length === 1, 5_000);
});

s('what a batch made due is handed on though ops can not be told of what else was in it', async () => {
  const { engine, faults } = await withUnreadable();
  const committed: string[] = [];
  const troubles: unknown[] = [];
  engine.onTrouble((error) => troubles.push(error));
  engine.handFreshWorkTo({
    reserve: () => true,
    release: () => {},
    takeUp: ({ taken }) => committed.push(...taken.map(({ entry }) => entry.message.type)),
  });
  faults.fail('note');
  const answers = await Promise.all([
    engine.send(ACCOUNT, message(CHARGE, 'CANCEL')),
    adjust(engine, ACCOUNT, deposit(1)),
  ]);
  assert.equal(
    answers.map(({ kind }) => kind),
    ['quarantined', 'adjusted'],
  );
  assert.equal(committed, ['ADJUST']);
  await until(() => troubles.length === 1, 5_000);
});

s('what accounts that commit at the same time claim stays within the room that there is', async () => {
  const { store } = opened();
  const webhooks = [{ url: 'https://a.example', events: null, secrets: [] }];
  const settings = async () => ({ ...SETTINGS, webhooks });
  const engine = engineOn(store, now, { incarnation: 'b', settings });
  const room = new Room(25);
  let inHand = 0;
  engine.handFreshWorkTo({
    reserve: (due) => room.reserve(due.length),
    release: (due) => room.release(due.length),
    takeUp: ({ claims }) => {
      inHand += claims.length;
      room.occupy(claims.length);
    },
  });
  const ids = Array.from({ length: 40 }, (_, index) => uuid(100 + index));
  await Promise.all(ids.map((id, index) => engine.send(`acc_${index % 4}`, charge(id))));
  assert.ok(inHand > 0, 'nothing was claimed with its batch');
  assert.ok(inHand <= 25, `${inHand} in hand`);
  assert.is(room.free, 25 - inHand, 'room was lost');
  assert.is((await store.due.claim('delivery', now(), 100)).length, 40 - inHand);
});

s.run();
