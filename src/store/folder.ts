/** The data folder of the embedded store. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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

/** Who holds a folder, as far as it is known. */
interface Named {
  pid: number;
  since: string;
  /** `serve` where nothing is said. */
  what?: string;
}

/** The log ends before what was made of it does: it was put back from an older copy. It can still be read. */
export class OlderLog extends OperatorError {
  constructor(log: string, end: number, projections: string, mark: number) {
    super(
      `${log} ends at row ${end}, and ${projections} was made of ${mark} rows: the log is an older copy. Put back the newest one; verify names the accounts that miss something. To go on without what is gone, remove ${projections}`,
    );
  }
}

/** The folder is held by another process, which hasn't always said yet which one. */
export class FolderHeld extends OperatorError {
  constructor(folder: string, holder: Named | null) {
    const named = holder === null ? 'another process' : `process ${holder.pid} since ${holder.since}`;
    const { what = 'serve' } = holder ?? {};
    const told =
      what === 'serve'
        ? `served by ${named}: one server writes a folder`
        : `held by ${named}, which runs ${what}: one process writes a folder`;
    super(`the data folder ${folder} is ${told}`);
  }
}
