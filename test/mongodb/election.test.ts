/**
 * A new primary, of which a majority read is older for a moment than what was confirmed before (SERVER-53813): nobody
 * decides by that, with what is remembered of the one before.
 */
import { randomUUID } from 'node:crypto';
import { StoreUnavailable } from '../../src/engine/store.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { first, same } from '../store/contract/harness.ts';
import { expectRejection } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { sleep } from '../support/wait.ts';
import { onDatabase, ownServer, UNCONFIRMED } from './own-server.ts';

const NOTICED_MS = 1_500;

const suite = fixtureSuite('an election', async (defer) => ownServer(defer));
const { test } = suite;

test('nothing is read of a new primary until it has confirmed a write of its term', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const account = randomUUID();
    const { append } = await grow(store, account, [chargeCreated(store.now())]);
    const record = first(append.records);
    await database.fail({ commands: ['update'], collection: 'marks', writeConcernError: UNCONFIRMED });
    await database.elect();
    await sleep(NOTICED_MS);
    await expectRejection(store.journal.transaction(record.id), StoreUnavailable);
    await expectRejection(store.journal.head(account), StoreUnavailable);
    await database.calm();
    await sleep(NOTICED_MS);
    same(await store.journal.transaction(record.id), record);
    await grow(store, account, [chargeCreated(store.now())], { known: append.records });
  }));

suite.run();
