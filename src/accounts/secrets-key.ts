/** The key that seals webhook secrets: SECRETS_KEY, or a data folder's own, made on the folder's first start. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, OperatorError } from '../errors.ts';

const KEY_BYTES = 32;

/** A key of 32 bytes in base64; null where the text isn't one. */
export function parseKey(text: string): Buffer | null {
  const key = Buffer.from(text, 'base64');
  return key.length === KEY_BYTES && key.toString('base64') === text ? key : null;
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'secrets.key');
}

function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes the key whole or not at all: what was sealed with half a key, or a lost one, nobody opens again. */
function makeKey(path: string): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(temporary, randomBytes(KEY_BYTES).toString('base64'), { flag: 'wx', mode: 0o600 });
    syncToDisk(temporary);
    linkSync(temporary, path);
    syncToDisk(dirname(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Of two processes that start at once one was first, and both read its key.
    if (code !== 'EEXIST')
      throw new OperatorError(
        `the key ${path} can't be written (${codeOf(error)}): is there space on the disk?`,
      );
  } finally {
    rmSync(temporary, { force: true });
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new OperatorError(`the key ${path} can't be read: ${codeOf(error)}`);
  }
}

function readKey(path: string): Buffer {
  const key = parseKey(textIn(path).trim());
  if (key === null) throw new OperatorError(`${path} is no key of 32 bytes in base64`);
  return key;
}

/** The key that a data folder has of its own; null where it has none. @throws OperatorError where it is no key, or can't be read */
export function findSecretsKey(dataDir: string): Buffer | null {
  const path = pathIn(dataDir);
  return existsSync(path) ? readKey(path) : null;
}

/** The key of a data folder is gone, and what it sealed is there. */
export function keyIsMissing(dataDir: string): OperatorError {
  return new OperatorError(
    `${pathIn(dataDir)} is missing, and the secrets of accounts in this folder were sealed with it: put it back, from a copy, or set SECRETS_KEY`,
  );
}

/** The key that a data folder has of its own, made where it has none. @throws OperatorError */
export function openSecretsKey(dataDir: string): Buffer {
  const path = pathIn(dataDir);
  if (!existsSync(path)) makeKey(path);
  return readKey(path);
}
