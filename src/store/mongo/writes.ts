/**
 * Commands that write many documents at once, tried until their outcome is known: every write here may be made
 * again. All of them wait for a majority.
 */
import { BSON, type Document } from 'mongodb';
import { MAJORITY, type MongoConnection } from './connection.ts';

/** A command is one document of at most 16 MiB; so few of our documents always fit. */
const FEW = 64;
const COMMAND_BYTES = 12 * 1024 * 1024;
const DUPLICATE_KEY = 11000;

/** Documents in as few commands as they fit into. */
function inCommands<Item extends Document>(items: readonly Item[]): Item[][] {
  if (items.length <= FEW) return items.length === 0 ? [] : [[...items]];
  const commands: Item[][] = [];
  let bytes = COMMAND_BYTES;
  for (const item of items) {
    const size = BSON.calculateObjectSize(item);
    if (bytes + size > COMMAND_BYTES) {
      commands.push([]);
      bytes = 0;
    }
    commands.at(-1)?.push(item);
    bytes += size;
  }
  return commands;
}

interface WriteError {
  index: number;
  code: number;
  errmsg: string;
}

/**
 * Inserts documents; gives those whose place was taken, and throws where one can't be stored at all.
 * Tried until the outcome is known.
 */
export async function insertAll<Item extends Document>(
  connection: MongoConnection,
  collection: string,
  documents: readonly Item[],
): Promise<Item[]> {
  const taken: Item[] = [];
  const insert = async (part: Item[]): Promise<void> => {
    const command = { insert: collection, documents: part, ordered: false, writeConcern: MAJORITY };
    const { writeErrors } = await connection.surely(() => connection.send(command));
    const errors: WriteError[] = writeErrors ?? [];
    for (const { index, code, errmsg } of errors) {
      const document = part[index];
      if (code !== DUPLICATE_KEY) throw new Error(`${collection} does not take a document: ${errmsg}`);
      if (document !== undefined) taken.push(document);
    }
  };
  await Promise.all(inCommands(documents).map(insert));
  return taken;
}

/** Runs update statements until their outcome is known; how many documents they found, or changed. */
export async function updateAll(
  connection: MongoConnection,
  collection: string,
  statements: readonly Document[],
  counted: 'found' | 'changed' = 'found',
): Promise<number> {
  let found = 0;
  const update = async (updates: Document[]): Promise<void> => {
    const command = { update: collection, updates, ordered: false, writeConcern: MAJORITY };
    const { n, nModified = 0, writeErrors } = await connection.surely(() => connection.send(command));
    const errors: WriteError[] = writeErrors ?? [];
    // Two that put the same thing where nothing is: the other one was first.
    const wrong = errors.find(({ code }) => code !== DUPLICATE_KEY);
    if (wrong !== undefined) throw new Error(`${collection} does not take an update: ${wrong.errmsg}`);
    found += counted === 'found' ? n : nModified;
  };
  await Promise.all(inCommands(statements).map(update));
  return found;
}
