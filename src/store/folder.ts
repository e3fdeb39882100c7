/** The data folder: made where it isn't there, and the key in it that seals webhook secrets. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseKey } from '../accounts/sealing.ts';
import { codeOf, OperatorError } from '../errors.ts';

/** Makes a folder and those above it. node's own recursive way never ends where a parent can't hold folders. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(path) === path || existsSync(dirname(path))) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** The data folder, made where it isn't there. */
export function openFolder(folder: string): string {
  const dataDir = resolve(folder);
  try {
    makeFolder(dataDir);
    const probe = join(dataDir, '.writable');
    writeFileSync(probe, '');
    rmSync(probe, { force: true });
  } catch (error) {
    throw new OperatorError(`the data folder ${dataDir} can't be written: ${codeOf(error)}`);
  }
  return dataDir;
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
function makeKey(path: string, dataDir: string): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(temporary, randomBytes(32).toString('base64'), { flag: 'wx', mode: 0o600 });
    syncToDisk(temporary);
    linkSync(temporary, path);
    syncToDisk(dataDir);
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

/** The key that seals webhook secrets: the configuration's, else the data folder's own, made on first start. */
export function openSecretsKey(given: string | null, dataDir: string): Buffer {
  const known = given === null ? null : parseKey(given);
  if (known !== null) return known;
  const path = join(dataDir, 'secrets.key');
  if (!existsSync(path)) makeKey(path, dataDir);
  const key = parseKey(readFileSync(path, 'utf8').trim());
  if (key === null) throw new OperatorError(`${path} is no key of 32 bytes in base64`);
  return key;
}
