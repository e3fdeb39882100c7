/**
 * Where a data folder's socket lies: in the folder, or, where its path is too long for a socket or the file system
 * takes none, in a new folder below the system's temporary one. Its owner alone may connect.
 */
import { chmodSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { asError, codeOf } from '../errors.ts';
import { CannotHold } from '../store/folder-lock.ts';

/** Node cuts a longer path without a word. */
const MOST_BYTES = process.platform === 'darwin' ? 103 : 107;
const OWNER_ONLY = 0o600;
const OTHERS_BITS = 0o177;
const NAME = 'pixstate.socket';
const ELSEWHERE = 'pixstate-socket-';

function inFolder(folder: string): string {
  return join(folder, NAME);
}

function isElsewhere(path: string): boolean {
  return basename(path) === NAME && basename(dirname(path)).startsWith(ELSEWHERE);
}

/** @throws Error of the operating system */
async function listenAt(server: Server, path: string): Promise<void> {
  if (Buffer.byteLength(path) > MOST_BYTES) throw new Error('the path is too long for a socket');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The socket is made within the call: it is never there for anybody else.
    const before = process.umask(OTHERS_BITS);
    try {
      server.listen(path, () => {
        server.off('error', reject);
        resolve();
      });
    } finally {
      process.umask(before);
    }
  });
  chmodSync(path, OWNER_ONLY);
}

/** Whether nobody listens there any more. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(false);
    });
    probe.once('error', (error) => resolve(codeOf(error) === 'ECONNREFUSED'));
  });
}

function removeElsewhere(path: string): void {
  try {
    rmSync(path, { force: true });
    rmdirSync(dirname(path));
  } catch {
    // An empty folder among temporary ones harms nobody.
  }
}

/**
 * Listens on the folder's socket; its path. What a dead holder left is removed, which is why the caller must hold the
 * folder. `former` is the socket that was named last: where the folder is a copy, it may be another holder's.
 * @throws CannotHold where a socket can be made nowhere
 */
export async function listenIn(folder: string, former: string | null, server: Server): Promise<string> {
  if (former !== null && isElsewhere(former) && (await isDead(former))) removeElsewhere(former);
  const near = inFolder(folder);
  try {
    rmSync(near, { force: true });
    await listenAt(server, near);
    return near;
  } catch (error) {
    return await listenElsewhere(folder, server, asError(error));
  }
}

async function listenElsewhere(folder: string, server: Server, why: Error): Promise<string> {
  let path: string | null = null;
  try {
    path = join(mkdtempSync(join(tmpdir(), ELSEWHERE)), NAME);
    await listenAt(server, path);
    return path;
  } catch (error) {
    if (path !== null) removeElsewhere(path);
    const reasons = `in it ${codeOf(why)}, below ${tmpdir()} ${codeOf(error)}`;
    throw new CannotHold(folder, `no socket can be made (${reasons})`);
  }
}

/** Takes a socket away that this process listened on. */
export function removeSocket(path: string): void {
  if (isElsewhere(path)) removeElsewhere(path);
  else rmSync(path, { force: true });
}
