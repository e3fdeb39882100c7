/**
 * Where the consoles of the servers on one database are, for commands beside them. An address lies in one of a few
 * marks from its server's start to its end; one that was killed leaves its own, which a later server takes over.
 */
import { hostname } from 'node:os';
import type { Marks } from '../engine/store/marks.ts';

type AddressMarks = Pick<Marks, 'mark' | 'swapMark'>;

/** Where a console is. */
export interface ConsolePlace {
  /** Where people find it. */
  url: string;
  /** Where its own machine reaches it. */
  local: string;
  /** Whether links sign in there; otherwise a proxy does. */
  hasLinks: boolean;
}

/** A console's address. */
export interface ConsoleAddress extends ConsolePlace {
  /** The server's run. */
  incarnation: string;
  /** Ms since 1970. */
  since: number;
  /** The machine's name. */
  machine: string;
}

const PLACES = 16;
const MOST_TRIES = 100;

function names(): string[] {
  return Array.from({ length: PLACES }, (_, index) => `console:at:${String(index).padStart(2, '0')}`);
}

/** A server of an earlier build has said its `url` alone. */
function parsed(text: string | null): ConsoleAddress | null {
  if (text === null || text === '') return null;
  const address = JSON.parse(text);
  return { local: address.url, hasLinks: true, ...address };
}

/** Says where this server's console is. */
export async function announce(marks: AddressMarks, address: Omit<ConsoleAddress, 'machine'>): Promise<void> {
  const text = JSON.stringify({ ...address, machine: hostname() });
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const texts = await Promise.all(names().map((name) => marks.mark(name)));
    const since = texts.map((each) => parsed(each)?.since ?? 0);
    const index = since.indexOf(Math.min(...since));
    if (await marks.swapMark(names()[index] ?? '', texts[index] ?? null, text)) return;
  }
  throw new Error("no place for a console's address came free");
}

/** Takes a server's address away. */
export async function withdraw(marks: AddressMarks, incarnation: string): Promise<void> {
  for (const name of names()) {
    const text = await marks.mark(name);
    if (parsed(text)?.incarnation === incarnation) await marks.swapMark(name, text, '');
  }
}

/** All addresses, the newest first. */
export async function addresses(marks: Pick<Marks, 'mark'>): Promise<ConsoleAddress[]> {
  const texts = await Promise.all(names().map((name) => marks.mark(name)));
  return texts
    .map(parsed)
    .filter((address) => address !== null)
    .sort((a, b) => b.since - a.since);
}
