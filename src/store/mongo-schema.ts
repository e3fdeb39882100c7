/**
 * Collections, indexes and the view: made at each start, which changes nothing where they are there.
 * `docs/mongodb.md` says which query each index serves.
 */
import type { CreateIndexesOptions, Db, IndexSpecification } from 'mongodb';
import { MongoServerError } from 'mongodb';

type Index = [IndexSpecification, CreateIndexesOptions & { name: string }];

/** An index over what is due: it holds only documents in which something is. */
function dueIndex(name: string, owner: string, due: string): Index {
  return [
    { [owner]: 1, [due]: 1 },
    { name, partialFilterExpression: { [due]: { $exists: true } } },
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
    dueIndex('timers', 'timers.owner', 'timers.due'),
    dueIndex('orders', 'orders.owner', 'orders.due'),
    [{ updatedAt: 1 }, { name: 'open', partialFilterExpression: { open: true } }],
  ],
  deliveries: [[{ transaction: 1, _id: 1 }, { name: 'transaction' }], dueIndex('due', 'owner', 'due')],
  adjustments: [],
  attention: [
    [{ id: 1 }, { name: 'id' }],
    [{ done: 1, since: 1 }, { name: 'open' }],
  ],
  accounts: [[{ clientId: 1 }, { name: 'clientId', unique: true }]],
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

const NAMESPACE_EXISTS = 48;

async function create(db: Db, name: string, options: object): Promise<void> {
  try {
    await db.createCollection(name, options);
  } catch (error) {
    // Of processes that start at once one is first.
    if (!(error instanceof MongoServerError) || error.code !== NAMESPACE_EXISTS) throw error;
  }
}

/** Makes what isn't there. */
export async function prepareSchema(db: Db): Promise<void> {
  const known = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  for (const [name, indexes] of Object.entries(INDEXES)) {
    if (!known.has(name)) await create(db, name, {});
    const collection = db.collection(name);
    await Promise.all(indexes.map(([key, options]) => collection.createIndex(key, options)));
  }
  if (!known.has('balances')) await create(db, 'balances', { viewOn: 'journal', pipeline: BALANCES });
}
