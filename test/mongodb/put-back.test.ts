/** A machine that was put back to an earlier moment, its memory with it: what it did since is not known to it. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EMPTY_HEAD, type Head } from '../../src/engine/journal.ts';
import { type Append, StoreUnavailable } from '../../src/engine/store.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { appendAfter, chargeCreated } from '../store/contract/builders.ts';
import { freshDatabase } from '../support/mongodb.ts';

const test = suite('a process that was put back');

function next(account: string, head: Head): Append {
  return appendAfter(account, head, [chargeCreated(Date.now())]);
}

test('a batch under whose name another one is there counts as committed by nobody', async () => {
  const database = await freshDatabase();
  // The same run of a process: it gives the same names again.
  const opened = (): MongoStore =>
    new MongoStore({
      ...{ uri: database.uri, incarnation: 'put-back', silentAfterMs: 5_000, leaseMs: 10_000 },
      onUnusable: (reason) => assert.unreachable(reason),
      onNotice: () => {},
    });
  const [before, after] = [opened(), opened()];
  try {
    await Promise.all([before.ready, after.ready]);
    const [known, unheard] = [randomUUID(), randomUUID()];
    assert.is((await before.journal.append(next(known, EMPTY_HEAD))).outcome, 'appended');
    const head = await after.journal.head(known);
    assert.is((await before.journal.append(next(known, head))).outcome, 'appended');
    const last = await before.journal.head(known);
    // Under the first name: a batch whose number is free.
    const answer = await after.journal.append(next(unheard, EMPTY_HEAD)).catch((error: unknown) => error);
    assert.instance(answer, StoreUnavailable);
    assert.equal(await before.journal.head(unheard), EMPTY_HEAD);
    // Under the second: one whose number the batch of that name has.
    assert.is((await after.journal.append(next(known, head))).outcome, 'stale');
    assert.equal(await before.journal.head(known), last);
    // Then names are its own again.
    assert.is((await after.journal.append(next(unheard, EMPTY_HEAD))).outcome, 'appended');
    assert.is((await before.journal.head(unheard)).seq, 1);
  } finally {
    await Promise.all([before.close(), after.close()]);
    await database.drop();
  }
});

test.run();
