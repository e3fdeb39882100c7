/** `verify` on a real store that a real engine wrote, whole and with each thing rotten in turn. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type VerifyReport, verifyStore } from '../../src/audit/verify.ts';
import type { Core } from '../../src/core.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { sha256 } from '../../src/engine/store/content.ts';
import { changeRecord, type StoredTables, withStoredTables } from '../support/stored-tables.ts';
import { close, createCharge, live, openOn, tell, withCopyOf } from './scene.ts';

const test = suite('verify');
const HASH_LENGTH = 64;

let folder = '';
let account = '';
let charge = '';
let transfer = '';

const open = (dataDir: string): Promise<Core> => openOn({ DATA_DIR: dataDir });

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pixstate-verify-'));
  const core = await open(folder);
  ({ account, charge, transfer } = await live(core));
  await close(core);
});

test.after(() => rm(folder, { recursive: true, force: true }));

/** Verifies a copy of the store in which something was changed. */
async function verifyAfter(rot: (tables: StoredTables) => unknown, decide = true): Promise<VerifyReport> {
  const copy = await mkdtemp(join(tmpdir(), 'pixstate-rotten-'));
  try {
    await cp(folder, copy, { recursive: true });
    await withStoredTables(copy, rot);
    const core = await open(copy);
    try {
      return await verifyStore(core.store.journal, { heads: true, decide, everyDoorSpeaks: true });
    } finally {
      await close(core);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** What is found when something is rotten: at least one difference of the account that says so. */
async function finds(pattern: RegExp, rot: (tables: StoredTables) => unknown, decide = false): Promise<void> {
  const report = await verifyAfter(rot, decide);
  const told = JSON.stringify(report.differences, null, 1);
  assert.is(report.ok, false, `nothing was found: ${pattern}`);
  assert.ok(
    report.differences.some(({ what }) => pattern.test(what)),
    `${pattern}: ${told}`,
  );
}

interface Content {
  seq: number;
  previous: string;
  balances: Record<string, number>;
  entries: { transaction: string | null; message: { type: string }; [part: string]: unknown }[];
  [part: string]: unknown;
}

/** Changes a batch; `chain`: and hashes it and all after it anew, as whoever forges history does. */
function forge(tables: StoredTables, seq: number, change: (content: Content) => void, chain: boolean): void {
  let previous: string | null = null;
  for (let at = seq; ; at++) {
    const value = tables.journal.get([account, at]);
    if (value === undefined) return;
    const content: Content = JSON.parse(value.slice(HASH_LENGTH));
    if (at === seq) change(content);
    if (previous !== null) content.previous = previous;
    const text = canonicalJson(content);
    const hash = chain ? sha256(text) : value.slice(0, HASH_LENGTH);
    void tables.journal.put([account, at], hash + text);
    if (!chain) return;
    previous = hash;
  }
}

/** Changes a batch's text, not what is parsed of it. */
function retell(tables: StoredTables, seq: number, change: (text: string) => string): void {
  const value = tables.journal.get([account, seq]) ?? '';
  const text = value.slice(HASH_LENGTH);
  const told = change(text);
  assert.is.not(told, text);
  assert.equal(JSON.parse(told), JSON.parse(text));
  tables.journal.put([account, seq], value.slice(0, HASH_LENGTH) + told);
}

/** False entries stand before the right ones, in a text that is long enough to have its entries looked for. */
function withFalseEntries(text: string): string {
  const entries = canonicalJson((JSON.parse(text) as Content).entries);
  const [before, after] = text.split(entries);
  const told = entries.replace('Quem pagou', 'Outra pessoa'.padEnd(5_000, '!'));
  assert.is.not(told, entries);
  // What finds entries takes them to be in the first of the two.
  return `${before}${told},"entries":${entries.replaceAll('"transaction":"', '"transaction": "')}${after}`;
}

/** The first batch that holds a message of the type to the transaction. */
function batchOf(tables: StoredTables, type: string, transaction: string | null = null): number {
  for (let seq = 1; ; seq++) {
    const value = tables.journal.get([account, seq]);
    if (value === undefined) throw new Error(`no ${type}`);
    const { entries } = JSON.parse(value.slice(HASH_LENGTH)) as Content;
    const fits = (entry: Content['entries'][number]): boolean =>
      entry.message.type === type && (transaction === null || entry.transaction === transaction);
    if (entries.some(fits)) return seq;
  }
}

test('a sound store is sound, decided again as well', async () => {
  const report = await verifyAfter(() => {});
  assert.equal(report.differences, []);
  assert.is(report.ok, true);
  assert.is(report.accounts, 2);
  assert.ok(report.entries >= report.batches && report.batches > 5);
  const [head, empty] = [...(report.heads ?? [])].sort((a, b) => b.seq - a.seq);
  assert.is(head?.seq, report.batches);
  assert.is(empty?.seq, 0);
  assert.match(head?.hash ?? '', /^[0-9a-f]{64}$/);
});

test('a changed batch, with and without a new hash', async () => {
  const change = (content: Content): void => {
    content.at = '2020-01-01T00:00:00.000Z';
  };
  await finds(/hash says/, (tables) => forge(tables, 2, change, false));
  await finds(/before that of the batch before/, (tables) => forge(tables, 2, change, true));
  await finds(/not chained/, (tables) => {
    const value = tables.journal.get([account, 2]) ?? '';
    const text = canonicalJson({ ...JSON.parse(value.slice(HASH_LENGTH)), at: '2020-01-01T00:00:00.000Z' });
    return tables.journal.put([account, 2], sha256(text) + text);
  });
  await finds(/hash does not cover/, (tables) =>
    forge(
      tables,
      2,
      (content) => {
        content.extra = 1;
      },
      false,
    ),
  );
});

/** Texts that parse to what was hashed. */
const RETOLD: Record<string, (tables: StoredTables) => unknown> = {
  'false entries before the right ones': (tables) =>
    retell(tables, batchOf(tables, 'PAY', charge), withFalseEntries),
  'a member that stands twice': (tables) =>
    retell(tables, 3, (text) => text.replace('"balances":{', '"balances":{"available":1},"balances":{')),
  'a member that stands twice within another one': (tables) =>
    retell(tables, 3, (text) => text.replace('"balances":{', '"balances":{"available":1,')),
  'a space': (tables) => retell(tables, 3, (text) => text.replace('"account":', '"account": ')),
  'a space at the end': (tables) => retell(tables, 3, (text) => `${text} `),
  'an escape in the place of a letter': (tables) =>
    retell(tables, 3, (text) => text.replace('"entries":', '"\\u0065ntries":')),
};

for (const [what, rot] of Object.entries(RETOLD))
  test(`a text that comes to the same, and isn't what was hashed: ${what}`, async () => {
    await withCopyOf(folder, rot, async ({ store: { journal } }) => {
      const options = { everyDoorSpeaks: true };
      for (const decide of [false, true])
        for (const heads of [false, true])
          for (const only of [{}, { account }]) {
            const { ok, differences } = await verifyStore(journal, { ...options, decide, heads, ...only });
            assert.is(ok, false);
            const [told, ...others] = differences.filter(({ what: each }) =>
              /stored as its hash says/.test(each),
            );
            assert.equal([told?.account, others], [account, []]);
            assert.ok((told?.seq ?? 0) >= 3);
          }
    });
  });

test('bytes that are read as the same text', async () => {
  const copy = await mkdtemp(join(tmpdir(), 'pixstate-bytes-'));
  try {
    const core = await open(copy);
    const own = await live(core);
    await tell(core, own.charge, 'PROTEST', { reason: 'what is no text is read as \ufffd' });
    await close(core);
    let seq = 0;
    await withStoredTables(copy, ({ journal }) => {
      while (journal.get([own.account, seq + 1]) !== undefined) seq += 1;
      journal.changeBytes([own.account, seq], (bytes) => {
        const [before, after] = [bytes.indexOf('\ufffd'), bytes.indexOf('\ufffd') + 3];
        return Buffer.concat([bytes.subarray(0, before), Buffer.of(0xff), bytes.subarray(after)]);
      });
    });
    const again = await open(copy);
    for (const only of [{}, { account: own.account }]) {
      const options = { heads: false, decide: false, everyDoorSpeaks: true, ...only };
      const { differences } = await verifyStore(again.store.journal, options);
      assert.equal(
        differences.map(({ account: of, seq: at }) => [of, at]),
        [[own.account, seq]],
      );
    }
    await close(again);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
});

test('a member that stands twice, and was hashed so, is found by deciding again', async () => {
  const rot = (tables: StoredTables): void => {
    let last = 0;
    while (tables.journal.get([account, last + 1]) !== undefined) last += 1;
    const text = (tables.journal.get([account, last]) ?? '').slice(HASH_LENGTH);
    const told = text.replace('"balances":{', '"balances":{"available":1},"balances":{');
    tables.journal.put([account, last], sha256(told) + told);
  };
  await finds(/hash says/, rot, true);
});

test('a missing batch, one of another account, one with another number, one that is no JSON', async () => {
  await finds(/batches 2 to 2 are missing/, (tables) => tables.journal.remove([account, 2]));
  await finds(/can't be read: row \d+ of the log has no batch/, (tables) => {
    const last = batchOf(tables, 'REJECT');
    void tables.journal.remove([account, last + 1]);
    return tables.journal.remove([account, last]);
  });
  await finds(/it is of nobody/, (tables) =>
    forge(
      tables,
      2,
      (content) => {
        content.account = 'nobody';
      },
      true,
    ),
  );
  await finds(/its number is 7/, (tables) =>
    forge(
      tables,
      2,
      (content) => {
        content.seq = 7;
      },
      true,
    ),
  );
  await finds(/can't be read/, (tables) => tables.journal.put([account, 2], 'rotten'));
  await finds(/can't be (replayed|read)/, (tables) =>
    forge(
      tables,
      2,
      (content) => {
        content.entries = 5 as never;
      },
      true,
    ),
  );
  await finds(/head can't be read/, (tables) => tables.journal.put([account, 1_000], 'rotten'));
});

test('postings that do not sum to zero, balances that are not their sum', async () => {
  await finds(/sum to 1/, (tables) =>
    forge(
      tables,
      batchOf(tables, 'PAY'),
      (content) => {
        for (const entry of content.entries) {
          if (entry.message.type === 'PAY') entry.postings = [{ leg: 'available', amount: 1 }];
        }
      },
      true,
    ),
  );
  await finds(/balances are/, (tables) =>
    forge(
      tables,
      3,
      (content) => {
        content.balances = { ...content.balances, available: 7 };
      },
      true,
    ),
  );
});

test('records: changed, missing, without a journal, no JSON', async () => {
  await finds(/differs in updatedAt/, (tables) =>
    changeRecord(tables, charge, (record) => {
      record.updatedAt = '2020-01-01T00:00:00.000Z';
    }),
  );
  await finds(/differs in snapshot/, (tables) =>
    changeRecord(tables, charge, (record) => {
      record.snapshot.value = 'refunded';
    }),
  );
  await finds(/differs from its history/, (tables) =>
    changeRecord(tables, charge, (record) => {
      record.seqs.push(1_000);
    }),
  );
  await finds(/there is no record/, (tables) => tables.records.remove(transfer));
  const stranger = '00000000-0000-4000-8000-000000000000';
  await finds(/no journal tells/, (tables) => {
    const record = { ...JSON.parse(tables.records.get(charge) ?? ''), id: stranger };
    return tables.records.put([stranger], JSON.stringify(record));
  });
  await finds(/can't be read/, (tables) => tables.records.put([charge], '{"rotten'));
  await finds(/record after|no record/, (tables) => tables.records.put([charge], 'null'));
});

/** Batches of refused messages to the charge. */
function refusalsIn(tables: StoredTables): number[] {
  return tables.refusals.rows(charge).map(({ key }) => Number(key.split(' ')[1]));
}

test('refused messages: one that no list has, and a count that is none', async () => {
  await finds(/no list has the refused message/, (tables) =>
    tables.refusals.remove(charge, refusalsIn(tables)[0] ?? 0),
  );
  for (const count of [0, 1, 3])
    await finds(/differs in refusals/, (tables) =>
      changeRecord(tables, charge, (record) => {
        record.refusals = count;
      }),
    );
});

test('a record of a former build, which names its refused messages itself, is sound', async () => {
  const former =
    (left: number) =>
    (tables: StoredTables): void => {
      const seqs = refusalsIn(tables);
      assert.is(seqs.length, 2);
      for (const seq of seqs) void tables.refusals.remove(charge, seq);
      changeRecord(tables, charge, (record) => {
        record.seqs = [...record.seqs, ...seqs.slice(left)].sort((a, b) => a - b);
        delete record.refusals;
      });
    };
  assert.equal((await verifyAfter(former(0), true)).differences, []);
  await finds(/differs in seqs/, former(1), true);
});

test('lookups: changed, missing, too many', async () => {
  await finds(/lookup idempotencyKey:k-1 is x/, (tables) =>
    tables.lookups.put([account, 'idempotencyKey', 'k-1'], 'x'),
  );
  await finds(/lookup idempotencyKey:k-1 is missing/, (tables) =>
    tables.lookups.remove(account, 'idempotencyKey', 'k-1'),
  );
  await finds(/lookup externalRef:other/, (tables) =>
    tables.lookups.put([account, 'externalRef', 'other'], charge),
  );
});

test('what waits, and nothing leads to by that', async () => {
  await finds(/waits, and isn't listed/, (tables) => tables.waits.clear());
});

test('settings that can not be read are told of, and all journals are read', async () => {
  const report = await verifyAfter((tables) => tables.accounts.put([account], '{"rotten'));
  assert.is(report.accounts, 2);
  const [told, ...others] = report.differences;
  assert.equal([told?.account, others], [account, []]);
  assert.match(told?.what ?? '', new RegExp(`^the settings of ${account} can't be read: `));
});

test('progress of a delivery that no entry names', async () => {
  const progress = { id: 'dlv_x', account, transaction: charge, status: 'dead', failures: 5, attempts: [] };
  const put =
    (parts: object): ((tables: StoredTables) => unknown) =>
    (tables) => {
      const record = { ...progress, nextAttemptAt: null, deliveredAt: null, ...parts };
      tables.deliveries.put([charge, record.id], JSON.stringify(record));
    };
  await finds(/no entry names the delivery dlv_x/, put({}));
  await finds(/another's/, put({ id: `dlv_${charge.replaceAll('-', '')}000`, account: 'nobody' }));
  await finds(/can't be read/, (tables) => tables.deliveries.put([charge, 'dlv_x'], 'rotten'));
});

test('a forged history that is sound in itself is found by deciding again', async () => {
  const rot = (tables: StoredTables): void => {
    const seq = batchOf(tables, 'PROTEST', charge);
    forge(
      tables,
      seq,
      (content) => {
        for (const entry of content.entries)
          if (entry.message.type === 'PROTEST') entry.from = 'waiting_payment';
      },
      true,
    );
  };
  const plain = await verifyAfter(rot, false);
  assert.equal(plain.differences, []);
  await finds(/decided again, PROTEST gives other from/, rot, true);
});

test('beside an engine that goes on writing nothing is found', async () => {
  const copy = await mkdtemp(join(tmpdir(), 'pixstate-beside-'));
  await cp(folder, copy, { recursive: true });
  const core = await open(copy);
  let going = true;
  const writing = (async () => {
    while (going) {
      const id = await createCharge(core, account, 10_000, 'beside');
      await tell(core, id, 'PAY');
      await tell(core, charge, 'PROTEST');
      await tell(core, charge, 'DISMISS');
    }
  })();
  for (let round = 0; round < 10; round++) {
    const report = await verifyStore(core.store.journal, {
      heads: false,
      decide: true,
      everyDoorSpeaks: true,
    });
    assert.equal(report.differences, []);
  }
  going = false;
  await writing;
  await close(core);
  await rm(copy, { recursive: true, force: true });
});

test.run();
