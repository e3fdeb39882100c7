/**
 * Changes of documents that are there, each by its `_id`, with a condition and new members of its own, many in one
 * statement.
 *
 * The server plans a statement that asks for more than an `_id`, which takes it as long as the change. So one statement
 * finds all documents by `_id`, and each takes its patch from a table in it.
 *
 * 1. A patch may be made again: its document doesn't fit it once it was made.
 * 2. Where the database turns a statement down, each patch is sent alone: what it never takes holds up no other. So is it
 *    where a sharded one changed fewer than it was told to: it may miss a document whose chunk moves.
 */
import type { Document } from 'mongodb';
import { mostBytes, type Plain } from '../bson.ts';
import { MAJORITY, type MongoConnection } from '../connection.ts';
import { writeAll } from './writes.ts';

export interface Patch {
  _id: string;
  /** Members that replace the document's. */
  set: Plain;
  /** What comes at the end of the document's arrays. */
  push?: { [array: string]: unknown[] };
  /** Elements that go from the document's arrays, as far as they have this id and token. */
  pull?: { [array: string]: { id: string; token: string }[] };
}

/** What patches of a kind have in common. */
export interface PatchKind {
  collection: string;
  /** An expression: whether `$$patch` is to be made in a document. */
  fits: Document;
  /** Members that the document has only where the patch sets them. */
  gone: readonly string[];
}

interface Table {
  patches: Patch[];
  bytes: number;
}

/** A document looks its patch up in the table by going through it. */
const MOST_IN_TABLE = 100;
const TABLE_BYTES = 1024 * 1024;

function tableOf(patch: Patch): Table {
  return { patches: [patch], bytes: mostBytes(patch) };
}

/** Patches in as few tables as they fit into; a document has one patch in a table. */
function tablesOf(patches: readonly Patch[]): Table[] {
  const tables: Table[] = [];
  let ids = new Set<string>();
  for (const patch of patches) {
    const table = tables.at(-1);
    const alone = tableOf(patch);
    const hasRoom =
      table !== undefined && ids.size < MOST_IN_TABLE && table.bytes + alone.bytes <= TABLE_BYTES;
    if (hasRoom && !ids.has(patch._id)) {
      table.patches.push(patch);
      table.bytes += alone.bytes;
    } else {
      tables.push(alone);
      ids = new Set();
    }
    ids.add(patch._id);
  }
  return tables;
}

/** The document's array without what its patch pulls, and with what it pushes; absent where it was and nothing comes. */
function arrayOf(name: string): Document {
  const array = `$${name}`;
  const gone = { $ifNull: [`$$patch.pull.${name}`, []] };
  const cond = { $not: [{ $in: [{ id: '$$this.id', token: '$$this.token' }, gone] }] };
  const kept = { $cond: [{ $isArray: array }, { $filter: { input: array, cond } }, array] };
  const items = `$$patch.push.${name}`;
  return { $cond: [{ $isArray: items }, { $concatArrays: [{ $ifNull: [kept, []] }, items] }, kept] };
}

function statementOf({ fits, gone }: PatchKind, patches: readonly Patch[]): Document {
  const ids = patches.map(({ _id }) => _id);
  // What a patch holds is nobody's expression, whatever it is.
  const patch = { $arrayElemAt: [{ $literal: patches }, { $indexOfArray: [{ $literal: ids }, '$_id'] }] };
  const kept = gone.reduce<unknown>((input, field) => ({ $unsetField: { field, input } }), '$$ROOT');
  const names = new Set(patches.flatMap(({ push, pull }) => Object.keys({ ...push, ...pull })));
  const arrays = Object.fromEntries([...names].map((name) => [name, arrayOf(name)]));
  const patched = { $mergeObjects: [kept, '$$patch.set', ...(names.size > 0 ? [arrays] : [])] };
  const document = { $let: { vars: { patch }, in: { $cond: [fits, patched, '$$ROOT'] } } };
  const [first, ...others] = ids;
  const q = { _id: others.length === 0 ? first : { $in: ids } };
  return { q, u: [{ $replaceWith: document }], multi: others.length > 0 };
}

/**
 * Makes patches, until the outcome of each is known; gives how many documents have changed by what is known of it.
 * @throws Error where the database never takes one of them; the others are made. StoreClosed
 */
export async function patchAll(
  connection: MongoConnection,
  kind: PatchKind,
  patches: readonly Patch[],
): Promise<number> {
  const { collection } = kind;
  const command = { update: collection, ordered: false, writeConcern: MAJORITY };
  const commandOf = (tables: readonly Table[]): Document => ({
    ...command,
    updates: tables.map((table) => statementOf(kind, table.patches)),
  });
  const write = (tables: readonly Table[]) =>
    writeAll(connection, collection, tables, commandOf, ({ bytes }) => bytes);
  const tables = tablesOf(patches);
  const together = await write(tables);
  const isTurnedDown = together.refused.size > 0 || together.taken.length > 0;
  const mayMiss = connection.sharded && together.changed < patches.length;
  if (!isTurnedDown && !mayMiss) return together.changed;
  const others = tables.filter((table) => table.patches.length > 1).flatMap((table) => table.patches);
  const alone = await write(others.map(tableOf));
  for (const [table, reason] of [...together.refused, ...alone.refused])
    if (table.patches.length === 1) throw reason;
  return together.changed + alone.changed;
}
