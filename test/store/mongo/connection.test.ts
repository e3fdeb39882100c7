/** What is told of a database that nobody reaches. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MongoConnection } from '../../../src/store/mongo/connection.ts';
import { sleep, until } from '../../support/wait.ts';

const test = suite('connection');

test('a database that was never there is not told to be there once nobody waits for it any more', async () => {
  const told: string[] = [];
  const uri = 'mongodb://127.0.0.1:1/pixstate?serverSelectionTimeoutMS=100';
  const connection = new MongoConnection({ uri, onNotice: (text) => told.push(text) });
  const failure = connection.connect().then(
    () => 'connected',
    (error: Error) => error.message,
  );
  await until(() => told.length > 0, 10_000, 'a line about it');
  await connection.close();
  assert.is(await failure, 'the store is closed');
  // Longer than the probe pauses.
  await sleep(1_000);
  assert.is(told.length, 1, told.join());
  assert.match(told[0] ?? '', "can't be reached");
});

test.run();
