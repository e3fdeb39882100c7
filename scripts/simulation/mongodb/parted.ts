/**
 * A command of which only some writes take effect: a router whose shard is away, or a server that is interrupted in
 * the midst of a statement, says so of single statements.
 */
import type { Document } from 'mongodb';

/** What a command calls its documents or statements. */
export const WRITES_OF = { insert: 'documents', update: 'updates', delete: 'deletes' } as const;
/** Server code of what was ended from outside. */
export const INTERRUPTED = 11_601;

/** A command as the driver has it, whose parts may be changed until it is sent. */
interface Operation {
  command?: Document;
}

interface Parted {
  /** What takes effect, and where it stands in the whole. */
  writes: Document[];
  places: number[];
  /** Places of those that are said to have failed. */
  failed: number[];
}

/** What a write that fails has changed: of a statement for documents that it names some of them; null: nothing. */
function doneOf(write: Document, fails: () => boolean): Document | null {
  const named: unknown = write.q?._id?.$in;
  if (write.multi !== true || !Array.isArray(named)) return null;
  const ids = named.filter(() => !fails());
  return ids.length === 0 ? null : { ...write, q: { ...write.q, _id: { $in: ids } } };
}

function partOf(all: readonly Document[], fails: () => boolean): Parted {
  const parted: Parted = { writes: [], places: [], failed: [] };
  all.forEach((write, place) => {
    const isWhole = !fails();
    const done = isWhole ? write : doneOf(write, fails);
    if (!isWhole) parted.failed.push(place);
    if (done === null) return;
    parted.writes.push(done);
    parted.places.push(place);
  });
  return parted;
}

/** What the driver makes a command's answer of. */
interface Answer {
  toObject(options?: unknown): Document;
}

const NOTHING: Answer = { toObject: () => ({ ok: 1, n: 0, nModified: 0 }) };

/** The answer to the whole of a command, of which a part was sent. */
function answerToAll(answer: Answer, { places, failed }: Parted): Answer {
  const own = failed.map((index) => ({ index, code: INTERRUPTED, errmsg: 'a simulated end of one write' }));
  return {
    toObject: (options) => {
      const { writeErrors: found = [], ...rest } = answer.toObject(options);
      const others = found
        .map((error: Document) => ({ ...error, index: places[error.index] }))
        .filter(({ index }: Document) => !failed.includes(index));
      const writeErrors = [...others, ...own];
      return writeErrors.length === 0 ? rest : { ...rest, writeErrors };
    },
  };
}

/** Sends what doesn't fail of a command's writes; the answer is the one to the whole. */
export async function sendPart(
  operation: Operation,
  fails: () => boolean,
  send: () => Promise<unknown>,
): Promise<unknown> {
  const { command } = operation;
  const writes = WRITES_OF[Object.keys(command ?? {})[0] as keyof typeof WRITES_OF];
  if (command === undefined || writes === undefined) return send();
  const parted = partOf(command[writes], fails);
  operation.command = { ...command, [writes]: parted.writes };
  try {
    const answer = parted.writes.length === 0 ? NOTHING : ((await send()) as Answer);
    return answerToAll(answer, parted);
  } finally {
    operation.command = command;
  }
}
