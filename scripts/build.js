/**
 * Builds dist/. Each build gets a folder of its own below .build/; `dist` is a link to the newest, replaced in
 * one step, so that commands which are running or starting are never left with half a build.
 *
 * --if-newer: only when a source is newer than the build.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** What the console's files are made of: the drawn charts, the page, and what makes them. */
const CONSOLE_SOURCES = [
  ...['machines', 'src/domain', 'src/console/ui', 'src/console/shapes.ts', 'src/console/shapes'],
  'src/console/api-shapes.ts',
  ...['scripts/charts.ts', 'scripts/assets.ts', 'package-lock.json'],
];
const SOURCES = [
  ...['machines', 'src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'],
  ...['scripts/bundle.ts', 'scripts/charts.ts', 'scripts/assets.ts'],
];
const KEPT_BUILDS = 3;

function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function builtAt() {
  try {
    return statSync(join(root, 'dist', '.built')).mtimeMs;
  } catch {
    return 0;
  }
}

/** Adds a file, or all files of a folder, to a hash: their paths and their bytes. */
function addTo(hash, path) {
  const full = join(root, path);
  if (!statSync(full).isDirectory()) {
    hash.update(`${path}\0`).update(readFileSync(full)).update('\0');
    return;
  }
  for (const name of readdirSync(full).sort()) addTo(hash, join(path, name));
}

/**
 * The console's files, for browsers. They take seconds, most builds change none of them, and so they are kept below
 * .build/ under the hash of what they were made of.
 */
function buildConsole(folder) {
  const hash = createHash('sha256');
  for (const path of CONSOLE_SOURCES) addTo(hash, path);
  const name = `console-${hash.digest('hex').slice(0, 16)}`;
  const kept = join(root, '.build', name);
  if (!existsSync(join(kept, 'index.html'))) {
    const made = `${folder}.console`;
    run(['--import', 'tsx', join(root, 'scripts', 'assets.ts'), made]);
    rmSync(kept, { recursive: true, force: true });
    renameSync(made, kept);
  }
  cpSync(kept, join(folder, 'console'), { recursive: true });
  for (const old of readdirSync(join(root, '.build')))
    if (/^console-[0-9a-f]{16}$/.test(old) && old !== name)
      rmSync(join(root, '.build', old), { recursive: true, force: true });
}

/** `dist` was a folder once: a link can't replace that in one step. */
function clearFolder(path) {
  try {
    if (!lstatSync(path).isSymbolicLink()) rmSync(path, { recursive: true });
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

/** Runs Node. What fails has said why: the build ends with its code. */
function run(args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw Object.assign(new Error('the build failed'), { status: status ?? 1 });
}

function build() {
  const started = Date.now();
  const id = `${started}-${process.pid}`;
  const folder = join(root, '.build', id);
  mkdirSync(folder, { recursive: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    run([tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', folder]);
    run(['--import', 'tsx', join(root, 'scripts', 'bundle.ts'), folder]);
    buildConsole(folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    rmSync(`${folder}.console`, { recursive: true, force: true });
    throw error;
  }
  chmodSync(join(folder, 'src', 'cli', 'pixstate.js'), 0o755);
  writeFileSync(join(folder, '.built'), '');
  const link = join(root, '.build', `${id}.link`);
  symlinkSync(join('.build', id), link);
  clearFolder(join(root, 'dist'));
  renameSync(link, join(root, 'dist'));
  // Commands that run on an older build may still load parts of it.
  const builds = readdirSync(join(root, '.build')).filter((name) => /^\d+-\d+$/.test(name));
  for (const old of builds.sort().slice(0, -KEPT_BUILDS))
    rmSync(join(root, '.build', old), { recursive: true, force: true });
}

const upToDate =
  process.argv.includes('--if-newer') && SOURCES.every((name) => newest(join(root, name)) <= builtAt());
try {
  if (!upToDate) build();
} catch (error) {
  if (error.status === undefined) throw error;
  process.exitCode = error.status;
}
