/**
 * What goes over the socket of a data folder: messages of JSON, one a line. The asker is told first who answers; it
 * then asks once. Each side names the package's version, and nothing is done where they differ.
 */
import type { Socket } from 'node:net';

/** What is a command's own, whoever runs it. */
export interface Settings {
  stuckAfterS: number;
  allowPrivateWebhooks: boolean;
  /** The reader's; absent: English. */
  language?: 'pt';
}

/** A command line that is to be run by whoever holds the folder. */
export interface Request {
  args: string[];
  /** The system's user who gave it. */
  user: string;
  /** What is asked for is done once under this id; null where the command has none. */
  id: string | null;
  settings: Settings;
  json: boolean;
  /** Whether somebody reads how far the work has come. */
  isWatched: boolean;
}

/** What the asker says. */
export type Asked = { type: 'giveWay'; version: string } | ({ type: 'run'; version: string } & Request);

/** What the holder says. */
export type Told =
  /** The first message. `folder`: its id. */
  | { type: 'greeting'; version: string; pid: number; folder: string }
  /** From here on what was asked may be done. */
  | { type: 'begun' }
  /** A sign of life, every second. */
  | { type: 'beat' }
  | { type: 'out'; text: string }
  | { type: 'err'; text: string }
  /** What is told is shown once: what to do where it is lost. */
  | { type: 'ifLost'; text: string }
  /** The command has ended. */
  | { type: 'end'; code: number }
  /** The folder is about to be free, or somebody else's: nothing was done. */
  | { type: 'again' }
  /** It is given way once what writes has ended. */
  | { type: 'way' }
  /** Nothing is done for others meanwhile. */
  | { type: 'busy'; what: string };

/** An asker's message may be so long: what a command line holds, several times. */
export const MOST_ASKED = 8 * 1024 * 1024;
/** A holder's: a piece of output and what is around it. */
export const MOST_TOLD = 1024 * 1024;

/** Sends a message; false where the other side doesn't keep up. */
export function send(socket: Socket, message: Asked | Told): boolean {
  return !socket.destroyed && socket.write(`${JSON.stringify(message)}\n`);
}

export interface Reading {
  /** Characters that a message may have. */
  most: number;
  onMessage(message: unknown): void;
  /** A message was too long, or none. */
  onNonsense(): void;
}

/** Reads messages from now on, up to the first that is none. */
export function readMessages(socket: Socket, { most, onMessage, onNonsense }: Reading): void {
  let parts: string[] = [];
  let length = 0;
  const take = (line: string): boolean => {
    try {
      onMessage(JSON.parse(line));
      return true;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return false;
    }
  };
  const onData = (text: string): void => {
    const lines = text.split('\n');
    for (const [nth, part] of lines.entries()) {
      parts.push(part);
      length += part.length;
      const isWhole = nth < lines.length - 1;
      if (length <= most && (!isWhole || take(parts.join('')))) {
        if (!isWhole) continue;
        parts = [];
        length = 0;
        continue;
      }
      socket.off('data', onData);
      onNonsense();
      return;
    }
  };
  socket.setEncoding('utf8').on('data', onData);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** An asker's message; null for what is none. */
export function askedIn(message: unknown): Asked | null {
  if (typeof message !== 'object' || message === null) return null;
  const {
    type,
    version,
    args,
    user,
    id,
    settings,
    json,
    isWatched,
  }: Partial<Record<keyof Request | 'type' | 'version', unknown>> = message;
  if (!isText(version)) return null;
  if (type === 'giveWay') return { type, version };
  if (type !== 'run' || !Array.isArray(args) || !args.every(isText) || !isText(user)) return null;
  if (typeof settings !== 'object' || settings === null) return null;
  const { stuckAfterS, allowPrivateWebhooks, language }: Partial<Record<keyof Settings, unknown>> = settings;
  if (!Number.isSafeInteger(stuckAfterS) || typeof stuckAfterS !== 'number') return null;
  if (typeof allowPrivateWebhooks !== 'boolean') return null;
  const own: Settings = { stuckAfterS, allowPrivateWebhooks };
  if (language === 'pt') own.language = language;
  return {
    ...{ type, version, args, user, settings: own },
    ...{ id: isText(id) ? id : null, json: json === true, isWatched: isWatched === true },
  };
}

/** A holder's message; null for what is none. */
export function toldIn(message: unknown): Told | null {
  if (typeof message !== 'object' || message === null) return null;
  const parts: Partial<Record<'type' | 'version' | 'pid' | 'folder' | 'text' | 'code' | 'what', unknown>> =
    message;
  const { type, version, pid, folder, text, code, what } = parts;
  switch (type) {
    case 'greeting':
      return isText(version) && typeof pid === 'number' && isText(folder)
        ? { type, version, pid, folder }
        : null;
    case 'out':
    case 'err':
    case 'ifLost':
      return isText(text) ? { type, text } : null;
    case 'end':
      return typeof code === 'number' ? { type, code } : null;
    case 'busy':
      return isText(what) ? { type, what } : null;
    case 'begun':
    case 'beat':
    case 'again':
    case 'way':
      return { type };
    default:
      return null;
  }
}
