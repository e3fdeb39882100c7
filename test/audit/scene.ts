/** An account with every kind of entry that there is, written by a real engine on a real store. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { type RebuildReport, rebuild } from '../../src/audit/rebuild.ts';
import { verifyStore } from '../../src/audit/verify.ts';
import { readConfig } from '../../src/config.ts';
import { type Core, openCore } from '../../src/core.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { BANK_WAITS } from '../../src/engine/attention/stuck.ts';
import { refusalsOf } from '../../src/engine/history.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { rebuildInThread } from '../../src/reader/thread.ts';
import { openTemporaryTable } from '../../src/store/scratch.ts';
import { lookupsOf } from '../store/contract/harness.ts';
import { type StoredTables, withStoredTables } from '../support/stored-tables.ts';

/** Opens the core on the store that an environment names; its bank does nothing by itself. */
export async function openOn(env: Record<string, string>): Promise<Core> {
  const onFatal = (error: Error): void => {
    throw error;
  };
  const core = await openCore(readConfig(env), { onFatal });
  await core.ready;
  return core;
}

export async function close({ engine, close: closeStore }: Core): Promise<void> {
  await engine.drain(1_000);
  await closeStore();
}

export async function createCharge(
  core: Core,
  account: string,
  amount: number,
  externalRef: string | null,
): Promise<string> {
  const owner = await core.store.accounts.get(account);
  assert.ok(owner !== null);
  const request = {
    amount,
    externalRef,
    description: null,
    additionalInfo: null,
    customer: { name: 'Ana', document: null, email: null, phone: null },
    metadata: {},
    expiresIn: null,
  };
  const answer = await core.payments.createCharge(owner, request, {});
  if (answer.kind !== 'applied') throw new Error(answer.kind);
  return answer.record.id;
}

export async function createTransfer(core: Core, account: string, idempotencyKey: string): Promise<string> {
  const owner = await core.store.accounts.get(account);
  assert.ok(owner !== null);
  const key = { pixKeyType: 'EMAIL' as const, pixKey: 'someone@example.com' };
  const request = {
    amount: 1_000,
    idempotencyKey,
    externalRef: null,
    description: null,
    metadata: {},
    ...key,
  };
  const answer = await core.payments.createTransfer(owner, request, {});
  if (answer.kind !== 'applied') throw new Error(answer.kind);
  return answer.record.id;
}

export async function tell(
  core: Core,
  id: string,
  type: string,
  data: Record<string, unknown> = {},
  door: 'ops' | 'bank' = 'ops',
) {
  const record = await core.store.journal.transaction(id);
  assert.ok(record !== null);
  return (await core.payments.tell(record, { id: null, type, data }, door)).kind;
}

export interface Life {
  account: string;
  /** Paid, protested, and told what it doesn't take. */
  charge: string;
  /** Completed; its idempotency key is `k-1`. */
  transfer: string;
  /** Pending; its idempotency key is `k-4`. */
  open: string;
}

/** Every kind of entry that there is; beside it an account without a journal. */
export async function live(core: Core): Promise<Life> {
  const wanted = { url: 'http://127.0.0.1:9/a', events: null };
  const filtered = { url: 'http://127.0.0.1:9/b', events: ['cashout.completed', 'pix-in.*'] };
  const parts = {
    fees: null,
    expiresIn: null,
    maxAmount: null,
    pixKey: null,
    merchantName: null,
    merchantCity: null,
  };
  const made = { name: 'Loja', webhooks: [wanted, filtered], allowedIps: ['*'], ...parts };
  const account = (await core.accounts.create(made)).accountId;
  await adjust(core.engine, account, { id: 'opening', amount: 100_000, reason: 'x', allowNegative: false });
  const charge = await createCharge(core, account, 10_000, 'same');
  const others = await Promise.all(
    [10_001, 10_000, 10_000, 10_000].map((amount) => createCharge(core, account, amount, 'same')),
  );
  const [scenario = '', expires = '', held = '', refused = ''] = others;
  assert.is(await tell(core, charge, 'PAY', { payer: { name: 'Quem pagou', novelty: 1 } }), 'applied');
  assert.is(await tell(core, charge, 'DISMISS'), 'refused');
  assert.is(await tell(core, charge, 'PROTEST'), 'applied');
  assert.is(await tell(core, charge, 'DISMISS'), 'applied');
  assert.is(await tell(core, charge, 'PAY', { endToEndId: 'E12345678202601021530aaaaaaaaaaa' }), 'refused');
  assert.is(await tell(core, scenario, 'PAY', {}, 'bank'), 'invalid');
  assert.is(await tell(core, expires, 'EXPIRE'), 'applied');
  assert.is(await tell(core, held, 'HOLD', { payer: { name: 'Outro' } }), 'applied');
  assert.is(await tell(core, held, 'APPROVE'), 'applied');
  assert.is(await tell(core, refused, 'REFUSE', { reason: 'no' }), 'applied');
  const transfer = await createTransfer(core, account, 'k-1');
  assert.is(await tell(core, transfer, 'SETTLE'), 'applied');
  const [silent, submitted, open] = await Promise.all([
    createTransfer(core, account, 'k-2'),
    createTransfer(core, account, 'k-3'),
    createTransfer(core, account, 'k-4'),
  ]);
  assert.is(await tell(core, silent, 'FAIL', { reason: 'x' }), 'applied');
  await core.engine.send(account, { kind: 'submit', transaction: submitted });
  assert.is(await tell(core, submitted, 'REJECT'), 'applied');
  await adjust(core.engine, account, { id: 'below', amount: -1_000_000, reason: 'x', allowNegative: true });
  // So the log has a row behind the account's last batch.
  await core.accounts.create({ ...made, name: 'Without a journal' });
  return { account, charge, transfer, open };
}

/** Records, lookups, refused messages, what waits and what needs a person, in one text. */
export async function contentOf({ store }: Core, account: string): Promise<string> {
  const records = await store.journal.records('', 10_000);
  const rows = await lookupsOf(store, account);
  const waiting = await Promise.all(BANK_WAITS.map((wait) => store.journal.waiting(wait, null, '9999', 100)));
  const refused = await Promise.all(records.map(({ id }) => refusalsOf(store.journal, id)));
  return canonicalJson({
    records,
    lookups: rows.map((row) => canonicalJson(row)).sort(),
    waiting,
    refused,
    attention: await store.attention.page({}, null, 1_000),
  });
}

export async function isSound({ store }: Core): Promise<boolean> {
  const options = { heads: false, decide: false, everyDoorSpeaks: true };
  return (await verifyStore(store.journal, options)).ok;
}

/** Nothing is on its way for long in tests, ms. */
const WRITE_MS = 300;

function only(account: string | undefined): { account?: string } {
  return account === undefined ? {} : { account };
}

/** Rebuilds an account, or all. */
export async function rebuilt({ store }: Core, account?: string): Promise<RebuildReport> {
  const scratch = await openTemporaryTable();
  try {
    return await rebuild(store.journal, { scratch, writeMs: WRITE_MS, ...only(account) });
  } finally {
    await scratch.close();
  }
}

/** As `rebuilt`, as commands do it in a data folder: reading in a thread of its own. */
export function rebuiltApart(core: Core, account?: string): Promise<RebuildReport> {
  const { store, place: folder, incarnation } = core;
  const apart = { folder, incarnation, signal: new AbortController().signal, onPage: () => {} };
  return rebuildInThread({ writeMs: WRITE_MS, ...only(account) }, store.journal, apart);
}

/** Works on a copy of a folder in which something was changed. */
export async function withCopyOf(
  folder: string,
  change: (tables: StoredTables) => unknown,
  work: (core: Core) => Promise<void>,
): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), 'pixstate-copy-'));
  try {
    await cp(folder, copy, { recursive: true });
    await withStoredTables(copy, change);
    const core = await openOn({ DATA_DIR: copy });
    try {
      await work(core);
    } finally {
      await close(core);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** A folder, which is the caller's to remove, with the lives of so many accounts. */
export async function folderOf(count: number): Promise<{ folder: string; lives: Life[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-lives-'));
  const core = await openOn({ DATA_DIR: folder });
  const lives = await Promise.all(Array.from({ length: count }, () => live(core)));
  await close(core);
  return { folder, lives };
}
