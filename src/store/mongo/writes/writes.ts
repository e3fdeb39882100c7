/**
 * Commands that write many documents at once, tried until their outcome is known: every write here may be made
 * again. All of them wait for a majority. What one document or statement meets is its own: the others are written.
 */
import type { Document } from 'mongodb';
import { StoreUnavailable } from '../../../engine/store.ts';
import { asError } from '../../../errors.ts';
import { mostBytes } from '../bson.ts';
import { MAJORITY, type MongoConnection } from '../connection.ts';
import { DUPLICATE_KEY, isHopelessCode } from '../errors.ts';

/** A command is one document of at most 16 MiB. */
const COMMAND_BYTES = 15 * 1024 * 1024;

/** Items in as few commands as they fit into. */
function inCommands<Item>(items: readonly Item[], bytesOf: (item: Item) => number): Item[][] {
  const commands: Item[][] = [];
  let bytes = COMMAND_BYTES;
  for (const item of items) {
    const size = bytesOf(item);
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

/** What became of documents or statements. */
export interface Written<Item> {
  /** Those whose key another document has. */
  taken: Item[];
  /** Those that the database never takes. */
  refused: Map<Item, Error>;
  /** How many documents the others put there or found, and how many they changed. */
  found: number;
  changed: number;
}

class Write<Item> {
  readonly written: Written<Item> = { taken: [], refused: new Map(), found: 0, changed: 0 };
  readonly #connection: MongoConnection;
  readonly #collection: string;
  readonly #commandOf: (items: readonly Item[]) => Document;
  readonly #first: () => Promise<void>;

  /** `first`: what is to be done before each time that it is sent. */
  constructor(
    connection: MongoConnection,
    collection: string,
    commandOf: (items: readonly Item[]) => Document,
    first: () => Promise<void>,
  ) {
    this.#connection = connection;
    this.#collection = collection;
    this.#commandOf = commandOf;
    this.#first = first;
  }

  /** Writes what fits into one command. @throws StoreClosed */
  async run(items: readonly Item[]): Promise<void> {
    let left = items;
    try {
      await this.#connection.surely(async () => {
        await this.#first();
        left = await this.#once(left);
        if (left.length > 0) throw new StoreUnavailable(`${this.#collection} takes some writes only later`);
      });
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      const [first] = left;
      if (first !== undefined && left.length === 1) this.written.refused.set(first, asError(error));
      else await this.#apart(left);
    }
  }

  /** Some of them can't be sent with others, or not at all: those that can are written all the same. */
  async #apart(items: readonly Item[]): Promise<void> {
    const half = Math.ceil(items.length / 2);
    for (const some of [items.slice(0, half), items.slice(half)]) if (some.length > 0) await this.run(some);
  }

  /** Sends them, once; gives those that are to be sent again. */
  async #once(items: readonly Item[]): Promise<Item[]> {
    const { n, nModified = 0, writeErrors } = await this.#connection.sendEach(this.#commandOf(items));
    this.written.found += n;
    this.written.changed += nModified;
    const errors: WriteError[] = writeErrors ?? [];
    return errors.flatMap(({ index, code, errmsg }) => {
      const item = items[index];
      if (item === undefined) return [];
      if (code === DUPLICATE_KEY) this.written.taken.push(item);
      else if (isHopelessCode(code)) this.written.refused.set(item, new Error(this.#turnedDown(errmsg)));
      else return [item];
      return [];
    });
  }

  #turnedDown(reason: string): string {
    return `${this.#collection} does not take a write: ${reason}`;
  }
}

/** Writes items by as few commands as they fit into, until the outcome of each is known. @throws StoreClosed */
export async function writeAll<Item>(
  connection: MongoConnection,
  collection: string,
  items: readonly Item[],
  commandOf: (items: readonly Item[]) => Document,
  bytesOf: (item: Item) => number = mostBytes,
  first: () => Promise<void> = async () => {},
): Promise<Written<Item>> {
  const write = new Write(connection, collection, commandOf, first);
  await Promise.all(inCommands(items, bytesOf).map((part) => write.run(part)));
  return write.written;
}

/**
 * Inserts documents, until the outcome of each is known. `bytesOf`: of one in BSON, at most; `first`: what is to be done
 * before each time that they are sent. @throws StoreClosed
 */
export function insertAll<Item extends Document>(
  connection: MongoConnection,
  collection: string,
  documents: readonly Item[],
  bytesOf?: (document: Item) => number,
  first?: () => Promise<void>,
): Promise<Written<Item>> {
  const command = { insert: collection, ordered: false, writeConcern: MAJORITY };
  return writeAll(
    connection,
    collection,
    documents,
    (some) => ({ ...command, documents: some }),
    bytesOf,
    first,
  );
}

/**
 * Runs update statements, until the outcome of each is known. `taken` are those that put something where nothing was,
 * and another one was first.
 * @throws StoreClosed
 */
export function updateAll(
  connection: MongoConnection,
  collection: string,
  statements: readonly Document[],
): Promise<Written<Document>> {
  const command = { update: collection, ordered: false, writeConcern: MAJORITY };
  return writeAll(connection, collection, statements, (updates) => ({ ...command, updates }));
}

/** What was written, where nothing was refused. @throws the reason of the first one that was */
export function allTaken<Item>(written: Written<Item>): Written<Item> {
  for (const reason of written.refused.values()) throw reason;
  return written;
}
