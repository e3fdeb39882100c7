/**
 * Collections, indexes and the view: made at each start, which changes nothing where they are there.
 * `docs/mongodb.md` says which query each index serves.
 */
import {
  type CreateIndexesOptions,
  type Db,
  type IndexSpecification,
  type MongoClient,
  MongoServerError,
} from 'mongodb';
import { causeOf, INDEX_CONFLICTS, UnusableServer } from './errors.ts';

type Index = [IndexSpecification, CreateIndexesOptions & { name: string }];

/** An index over what is due at a place (`timers.`): it holds only documents in which something is. */
function dueIndex(name: string, place: string): Index {
  const due = `${place}due`;
  return [
    { [`${place}parked`]: 1, [due]: 1 },
    { name, partialFilterExpression: { [due]: { $exists: true } } },
  ];
}

/** An index over what waits for the bank or for ops, in the order of its last change. */
function waitIndex(name: string, partialFilterExpression: object): Index {
  return [
    { updatedAt: 1, _id: 1 },
    { name, partialFilterExpression },
  ];
}

/** An index over what has failed for good, by account: only that pays for it. */
function failedIndex(status: string): Index {
  return [
    { status: 1, account: 1, _id: 1 },
    { name: `${status}_account`, partialFilterExpression: { status } },
  ];
}

const INDEXES: Record<string, readonly Index[]> = {
  journal: [
    [
      { account: 1, seq: 1 },
      { name: 'account_seq', unique: true },
    ],
  ],
  transactions: [
    [{ account: 1, type: 1, externalRef: 1, order: 1 }, { name: 'account_externalRef' }],
    [
      { 'lookups.key': 1, account: 1 },
      { name: 'lookups', partialFilterExpression: { 'lookups.key': { $exists: true } } },
    ],
    dueIndex('timers_due', 'timers.'),
    dueIndex('orders_due', 'orders.'),
    waitIndex('open_updatedAt', { open: true }),
    waitIndex('in_analysis_updatedAt', { status: 'in_analysis' }),
    waitIndex('refunding_updatedAt', { refunding: true }),
    waitIndex('in_protest_updatedAt', { status: 'in_protest' }),
  ],
  deliveries: [
    [{ transaction: 1, _id: 1 }, { name: 'transaction' }],
    dueIndex('parked_due', ''),
    failedIndex('dead'),
    failedIndex('rejected'),
    [
      { behind: 1, behindAt: 1, _id: 1 },
      { name: 'behind', partialFilterExpression: { behind: { $exists: true } } },
    ],
  ],
  targets: [[{ lookAt: 1 }, { name: 'lookAt' }]],
  adjustments: [],
  refusals: [[{ transaction: 1, seq: 1 }, { name: 'transaction' }]],
  attention: [
    [{ id: 1 }, { name: 'id' }],
    [{ done: 1, since: 1, _id: 1 }, { name: 'list' }],
    [{ done: 1, kind: 1, since: 1, _id: 1 }, { name: 'kinds' }],
    [{ done: 1, 'about.account': 1, since: 1, _id: 1 }, { name: 'accounts' }],
    [{ done: 1, 'about.transaction': 1, since: 1, _id: 1 }, { name: 'transactions' }],
    [{ done: 1, 'about.url': 1, since: 1, _id: 1 }, { name: 'urls' }],
  ],
  accounts: [[{ clientId: 1 }, { name: 'clientId', unique: true }]],
  marks: [],
  followed: [],
  processes: [],
};

/** The last batch of each account: its balances. */
const BALANCES = [
  { $sort: { account: -1, seq: -1 } },
  {
    $group: {
      _id: '$account',
      seq: { $first: '$seq' },
      at: { $first: '$at' },
      balances: { $first: '$balances' },
    },
  },
  {
    $project: {
      account: '$_id',
      seq: 1,
      at: 1,
      available: '$balances.available',
      clearing: '$balances.clearing',
      fees: '$balances.fees',
      bank: '$balances.bank',
    },
  },
];

const SLOW_PREPARATION_MS = 2_000;
const NAMESPACE_EXISTS = 48;
const VIEW = 'balances';

async function create(db: Db, name: string, options: object): Promise<void> {
  try {
    await db.createCollection(name, options);
  } catch (error) {
    // Of processes that start at once one is first.
    if (!(error instanceof MongoServerError) || error.code !== NAMESPACE_EXISTS) throw error;
  }
}

/** What an index is known by: another one of its name would not do what it is for. */
function shapeOf(key: object, unique = false): string {
  return `${unique ? 'unique ' : ''}${JSON.stringify(key)}`;
}

/** The indexes of a collection that are there, by name. */
async function indexesOf(db: Db, collection: string): Promise<Map<string, string>> {
  const found = await db.collection(collection).listIndexes().toArray();
  return new Map(
    found.map(({ name, key, unique, sparse, partialFilterExpression }) => {
      // One that leaves documents out lets two of them have one key.
      const holdsAll = sparse !== true && partialFilterExpression === undefined;
      return [String(name), shapeOf(key, unique === true && holdsAll)];
    }),
  );
}

/**
 * Names of collections, views and indexes (`collection.index`) that aren't there.
 * @throws UnusableServer where an index has the name of one of ours and other keys, or isn't unique as it must be
 */
async function missingSchema(db: Db): Promise<string[]> {
  const known = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  const missing = [...Object.keys(INDEXES), VIEW].filter((name) => !known.has(name));
  for (const [collection, indexes] of Object.entries(INDEXES)) {
    if (indexes.length === 0) continue;
    const there = known.has(collection) ? await indexesOf(db, collection) : new Map<string, string>();
    for (const [key, { name, unique }] of indexes) {
      const wanted = shapeOf(key as object, unique);
      const found = there.get(name);
      if (found === undefined) missing.push(`${collection}.${name}`);
      else if (found !== wanted)
        throw new UnusableServer(
          `the index ${collection}.${name} must be ${wanted}, and is ${found}: drop it`,
        );
    }
  }
  return missing;
}

/** Makes what isn't there. An index on a large collection takes its time. */
async function prepareSchema(db: Db): Promise<void> {
  for (const [name, indexes] of Object.entries(INDEXES)) {
    await create(db, name, {});
    const collection = db.collection(name);
    await Promise.all(indexes.map(([key, options]) => collection.createIndex(key, options)));
  }
  await create(db, VIEW, { viewOn: 'journal', pipeline: BALANCES });
}

/**
 * Makes what isn't there, however long that takes: over a client that is patient. Tells what is missing where it
 * takes long.
 * @throws UnusableServer where an index is in the way
 */
export async function completeSchema(
  db: Db,
  openPatient: () => MongoClient,
  onNotice: (text: string) => void,
): Promise<void> {
  const missing = await missingSchema(db);
  if (missing.length === 0) return;
  const patient = openPatient();
  const timer = setTimeout(
    () => onNotice(`what the database lacks is being made: ${missing.join(', ')}`),
    SLOW_PREPARATION_MS,
  );
  try {
    await prepareSchema(patient.db(db.databaseName));
  } catch (error) {
    if (error instanceof MongoServerError && INDEX_CONFLICTS.has(Number(error.code)))
      throw new UnusableServer(`the database has an index that is not what it should be: ${causeOf(error)}`);
    throw error;
  } finally {
    clearTimeout(timer);
    await patient.close();
  }
}

/**
 * Sees to it that there is a store in the database, and makes nothing.
 * @throws UnusableServer where there is none
 */
export async function expectStore(db: Db): Promise<void> {
  const found = await db.listCollections({ name: 'journal' }, { nameOnly: true }).toArray();
  if (found.length === 0)
    throw new UnusableServer(`there is no store in the database ${db.databaseName}: is MONGODB_URI right?`);
}
