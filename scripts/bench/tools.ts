/** Programs that aren't npm's: which of them this machine has. Nothing is installed here; `sql-setup.sh` does that. */
import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where Debian keeps PostgreSQL's own programs, below a folder for each version. */
const DEBIAN_POSTGRESQL = '/usr/lib/postgresql';
const POSTGRESQL_PROGRAMS = ['postgres', 'initdb'];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function pathFolders(): string[] {
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** The folders of Debian's versions of PostgreSQL, the newest first. */
function versionFolders(root: string): string[] {
  try {
    const versions = readdirSync(root).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(root, version, 'bin'));
  } catch {
    return [];
  }
}

/** The path of a program; null where there is none. */
export function findProgram(name: string): string | null {
  return (
    pathFolders()
      .map((folder) => join(folder, name))
      .find(isProgram) ?? null
  );
}

/** The folder of PostgreSQL's programs; null where there is none. */
export function findPostgresql(root = DEBIAN_POSTGRESQL): string | null {
  const folders = [...pathFolders(), ...versionFolders(root)];
  return folders.find((folder) => POSTGRESQL_PROGRAMS.every((name) => isProgram(join(folder, name)))) ?? null;
}

/** A sentence that names what a run with PostgreSQL lacks; null where it lacks nothing. */
export function missingForSql(root = DEBIAN_POSTGRESQL): string | null {
  const missing = [
    ...(findProgram('wrk') === null ? ['wrk'] : []),
    ...(findPostgresql(root) === null ? ['PostgreSQL'] : []),
  ];
  if (missing.length === 0) return null;
  return `--sql needs ${missing.join(' and ')}: scripts/bench/sql-setup.sh installs what is missing`;
}
