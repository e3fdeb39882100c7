/**
 * Builds dist/. Each build gets a folder of its own below .build/; `dist` is a link to the newest, replaced in
 * one step, so that commands which are running or starting are never left with half a build.
 *
 * --if-newer: only when a source is newer than the build.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCES = ['machines', 'src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];
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

/** `dist` was a folder once: a link can't replace that in one step. */
function clearFolder(path) {
  try {
    if (!lstatSync(path).isSymbolicLink()) rmSync(path, { recursive: true });
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

function build() {
  const started = Date.now();
  const id = `${started}-${process.pid}`;
  const folder = join(root, '.build', id);
  mkdirSync(folder, { recursive: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(
    process.execPath,
    [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', folder],
    {
      stdio: ['ignore', 2, 2],
    },
  );
  if (status !== 0) {
    rmSync(folder, { recursive: true });
    process.exit(status ?? 1);
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
if (!upToDate) build();
