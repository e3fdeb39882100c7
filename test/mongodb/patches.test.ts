/** Changes of many documents in one statement: each its own, none without the condition, none held up by another. */
import type { Collection } from 'mongodb';
import * as assert from 'uvu/assert';
import type { Plain } from '../../src/store/mongo/bson.ts';
import { MongoConnection } from '../../src/store/mongo/connection.ts';
import { type Patch, type PatchKind, patchAll } from '../../src/store/mongo/writes/patches.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { type OwnDatabase, type OwnServer, onDatabase, ownServer } from './own-server.ts';

const suite = fixtureSuite('patches', async (defer) => ownServer(defer));
const { test } = suite;

interface Thing extends Plain {
  _id: string;
  seq: number;
}

const NEWER: PatchKind = {
  collection: 'things',
  fits: { $lt: ['$seq', '$$patch.set.seq'] },
  gone: ['mark', 'held'],
};

interface Scene {
  database: OwnDatabase;
  connection: MongoConnection;
  things: Collection<Thing>;
  patch(patches: readonly Patch[]): Promise<number>;
  all(): Promise<Thing[]>;
}

function onThings(server: OwnServer, body: (scene: Scene) => Promise<void>): Promise<void> {
  return onDatabase(server, async (database) => {
    const connection = new MongoConnection({ uri: database.uri, onNotice: () => {} });
    const things = database.db.collection<Thing>('things');
    try {
      await connection.connect();
      await body({
        database,
        connection,
        things,
        patch: (patches) => patchAll(connection, NEWER, patches),
        all: () => things.find().sort({ _id: 1 }).toArray(),
      });
    } finally {
      await connection.close();
    }
  });
}

const idOf = (index: number): string => `thing ${String(index).padStart(4, '0')}`;
const COUNT = 250;
const some = (): Thing[] =>
  Array.from({ length: COUNT }, (_, index) => ({ _id: idOf(index), seq: 1, mark: true, kept: index }));

test('each document gets its own, and keeps what its patch says nothing of', (server) =>
  onThings(server, async ({ things, patch, all }) => {
    await things.insertMany(some());
    const patches = some().map(({ _id, kept }) => ({ _id, set: { seq: 2, value: `of ${kept}` } }));
    assert.is(await patch(patches), COUNT);
    assert.equal(
      await all(),
      some().map(({ _id, kept }) => ({ _id, seq: 2, kept, value: `of ${kept}` })),
    );
    assert.is(await patch(patches), 0, 'made again');
  }));

test('what is as new already stays, and what is not there is not made', (server) =>
  onThings(server, async ({ things, patch, all }) => {
    await things.insertMany([
      { _id: 'older', seq: 1, mark: true },
      { _id: 'same', seq: 2, mark: true },
      { _id: 'newer', seq: 3, mark: true },
    ]);
    const ids = ['older', 'same', 'newer', 'missing'];
    assert.is(await patch(ids.map((_id) => ({ _id, set: { seq: 2 } }))), 1);
    assert.equal(await all(), [
      { _id: 'newer', seq: 3, mark: true },
      { _id: 'older', seq: 2 },
      { _id: 'same', seq: 2, mark: true },
    ]);
  }));

test('of two patches of one document both are made, the older one only before the newer', (server) =>
  onThings(server, async ({ things, patch, all }) => {
    await things.insertMany([
      { _id: 'a', seq: 1 },
      { _id: 'b', seq: 1 },
    ]);
    const patches = [
      { _id: 'a', set: { seq: 2, first: true } },
      { _id: 'b', set: { seq: 3, second: true } },
      { _id: 'a', set: { seq: 3, second: true } },
      { _id: 'b', set: { seq: 2, first: true } },
    ];
    assert.is(await patch(patches), 3);
    assert.equal(await all(), [
      { _id: 'a', seq: 3, first: true, second: true },
      { _id: 'b', seq: 3, second: true },
    ]);
  }));

test('arrays get longer, and are made where there are none', (server) =>
  onThings(server, async ({ things, patch, all }) => {
    await things.insertMany([
      { _id: 'a', seq: 1, list: [{ n: 1 }] },
      { _id: 'b', seq: 1 },
      { _id: 'c', seq: 1, list: [] },
      { _id: 'd', seq: 1 },
    ]);
    const push = { list: [{ n: 2, $expression: '$seq' }] };
    const patches: Patch[] = ['a', 'b'].map((_id) => ({ _id, set: { seq: 2 }, push }));
    patches.push(...['c', 'd'].map((_id) => ({ _id, set: { seq: 2 } })));
    patches.push({ _id: 'd', set: { seq: 3 }, push: { other: ['$$ROOT'] } });
    assert.is(await patch(patches), 5);
    assert.equal(await all(), [
      { _id: 'a', seq: 2, list: [{ n: 1 }, ...push.list] },
      { _id: 'b', seq: 2, ...push },
      { _id: 'c', seq: 2, list: [] },
      { _id: 'd', seq: 3, other: ['$$ROOT'] },
    ]);
  }));

test('elements go from arrays by id and token, and others come', (server) =>
  onThings(server, async ({ things, patch, all }) => {
    const one = { id: '1', token: 't', more: 1 };
    const two = { id: '2', token: 't' };
    const list = [one, two, { id: '1', token: 'u' }, { id: '1' }, 'text'];
    await things.insertMany(['a', 'b', 'c', 'd', 'e'].map((_id) => ({ _id, seq: 1, list })));
    await things.updateOne({ _id: 'd' }, { $unset: { list: '' } });
    const pull = { list: [{ id: '1', token: 't' }] };
    const patches: Patch[] = [
      { _id: 'a', set: { seq: 2 }, pull },
      { _id: 'b', set: { seq: 2 }, pull, push: { list: [{ id: '3' }] } },
      { _id: 'c', set: { seq: 2 } },
      { _id: 'd', set: { seq: 2 }, pull },
      { _id: 'e', set: { seq: 1 }, pull },
    ];
    assert.is(await patch(patches), 4);
    const [, ...left] = list;
    assert.equal(await all(), [
      { _id: 'a', seq: 2, list: left },
      { _id: 'b', seq: 2, list: [...left, { id: '3' }] },
      { _id: 'c', seq: 2, list },
      { _id: 'd', seq: 2 },
      { _id: 'e', seq: 1, list },
    ]);
  }));

test('values are values, whatever they look like', (server) =>
  onThings(server, async ({ things, patch, all }) => {
    const odd = {
      ...{ '': 0, 'a.b': 1, $x: 2, $literal: '$seq', $getField: { field: 'seq' } },
      text: ['$seq', '$$ROOT', '$$patch.set', '$$REMOVE', '\u2028', null],
      deep: JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`),
    };
    await things.insertMany([
      { _id: 'a', seq: 1 },
      { _id: '$b', seq: 1 },
    ]);
    assert.is(await patch(['a', '$b'].map((_id) => ({ _id, set: { seq: 2, odd } }))), 2);
    assert.equal(await all(), [
      { _id: '$b', seq: 2, odd },
      { _id: 'a', seq: 2, odd },
    ]);
  }));

for (const [what, wrong] of Object.entries({
  'that the database turns down': { refused: true },
  'that makes a document too large': { large: 'x'.repeat(9_000_000) },
})) {
  test(`one ${what} holds up no other, and is told`, (server) =>
    onThings(server, async ({ database, things, patch }) => {
      await things.insertMany(some());
      await things.updateOne({ _id: idOf(7) }, { $set: { before: 'x'.repeat(9_000_000) } });
      await database.takeOnly('things', { refused: { $exists: false } });
      const patches = some().map(({ _id }, index) => ({
        _id,
        set: { seq: 2, ...(index === 7 ? wrong : {}) },
      }));
      let failure: unknown;
      await patch(patches).catch((error) => (failure = error));
      assert.instance(failure, Error);
      const old = await things.find({ seq: 1 }).project({ _id: 1 }).toArray();
      assert.equal(old, [{ _id: idOf(7) }]);
    }));
}

test('one whose value another document has, by an index of ops’ own, holds up no other', (server) =>
  onThings(server, async ({ things, patch }) => {
    await things.insertMany(some().map((thing) => ({ ...thing, value: thing._id })));
    await things.createIndex({ value: 1 }, { unique: true });
    const patches = some().map(({ _id }, index) => ({
      _id,
      set: { seq: 2, ...(index === 7 ? { value: idOf(249) } : {}) },
    }));
    assert.ok((await patch(patches)) < COUNT, 'it is told that not all were made');
    const old = await things.find({ seq: 1 }).project({ _id: 1 }).toArray();
    assert.equal(old, [{ _id: idOf(7) }]);
  }));

test('what a statement for many missed is found on a sharded database', (server) =>
  onThings(server, async ({ connection, things, patch }) => {
    const commands: number[] = [];
    assert.is(connection.sharded, false);
    await things.insertMany(some());
    const send = connection.sendEach.bind(connection);
    // As a router does while a chunk moves: one document is nowhere.
    connection.sendEach = async (command) => {
      commands.push(command.updates.length);
      const [{ q }] = command.updates;
      if (q._id.$in !== undefined) q._id.$in = q._id.$in.filter((id: string) => id !== idOf(7));
      return send(command);
    };
    const patchesOf = (seq: number): Patch[] => some().map(({ _id }) => ({ _id, set: { seq } }));
    assert.is(await patch(patchesOf(2)), COUNT - 1);
    assert.equal(commands.splice(0), [3], 'no router, no miss');
    connection.sharded = true;
    assert.is(await patch(patchesOf(3)), COUNT);
    assert.equal(commands, [3, COUNT]);
    assert.is(await things.countDocuments({ seq: 3 }), COUNT);
  }));

test('what would be pushed to is no array: it is told, and not tried for ever', (server) =>
  onThings(server, async ({ things, patch, all }) => {
    await things.insertMany([
      { _id: 'a', seq: 1, list: 'none' },
      { _id: 'b', seq: 1, list: [] },
    ]);
    let failure: unknown;
    const patches = ['a', 'b'].map((_id) => ({ _id, set: { seq: 2 }, push: { list: [1] } }));
    await patch(patches).catch((error) => (failure = error));
    assert.instance(failure, Error);
    assert.equal(await all(), [
      { _id: 'a', seq: 1, list: 'none' },
      { _id: 'b', seq: 2, list: [1] },
    ]);
  }));

suite.run();
