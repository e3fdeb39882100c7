/**
 * A small file system that is full (ENOSPC), where the machine lets us mount one; and flushes that fail (EIO),
 * where there is a C compiler for a shim. What is left out says so.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import { spawnProgram } from '../support/process.ts';
import { expectCleanEnd } from './broken-disk.ts';
import { withFolder } from './scene.ts';

const test = suite('flush');

/** A small file system in memory; null where we may not mount one. */
function mountSmall(folder: string, megabytes: number): (() => void) | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null;
  const size = `size=${megabytes}m`;
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', folder], { stdio: 'ignore' });
  if (mounted.status !== 0) return null;
  return () => {
    spawnSync('umount', [folder], { stdio: 'ignore' });
  };
}

const probe = mkdtempSync(join(tmpdir(), 'pixstate-test-'));
const unmountProbe = mountSmall(probe, 1);
unmountProbe?.();
rmSync(probe, { recursive: true, force: true });

if (unmountProbe === null) {
  console.log('left out: a full file system (ENOSPC), since this machine lets us mount none');
} else {
  test('a full file system: the same, and room that is made lets it go on', async () => {
    await withFolder(async (folder) => {
      const unmount = mountSmall(folder, 4);
      try {
        await expectCleanEnd({ dataDir: folder }, (server) => {
          const limited = spawnProgram(process.execPath, ['dist/src/main.js'], server.env);
          // Somebody makes room once the server has stopped.
          limited.ended.then(
            () => spawnSync('mount', ['-o', 'remount,size=64m', folder], { stdio: 'ignore' }),
            () => undefined,
          );
          return limited;
        });
      } finally {
        unmount?.();
      }
    });
  });
}

const SHIM = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static int broken(void) { const char *flag = getenv("BROKEN_DISK"); return flag && access(flag, F_OK) == 0; }
#define FAILING(name, params, args) \\
  int name params { \\
    static int (*real) params; \\
    if (broken()) { errno = EIO; return -1; } \\
    if (!real) real = dlsym(RTLD_NEXT, #name); \\
    return real args; \\
  }
FAILING(fsync, (int fd), (fd))
FAILING(fdatasync, (int fd), (fd))
FAILING(msync, (void *at, size_t length, int flags), (at, length, flags))
`;

/** The shim in a folder; null without a compiler. */
function compileShim(folder: string): string | null {
  const source = join(folder, 'shim.c');
  const shim = join(folder, 'shim.so');
  writeFileSync(source, SHIM);
  const args = ['-shared', '-fPIC', '-O1', '-o', shim, source, '-ldl'];
  return spawnSync('cc', args, { stdio: 'ignore' }).status === 0 ? shim : null;
}

const shimFolder = mkdtempSync(join(tmpdir(), 'pixstate-test-'));
process.once('exit', () => rmSync(shimFolder, { recursive: true, force: true }));
const shim = process.platform === 'linux' ? compileShim(shimFolder) : null;

if (shim === null) {
  console.log('left out: a flush that fails (EIO), since there is no C compiler for the shim');
} else {
  test('a flush that fails: nobody is told of a success, and the server stops', async () => {
    const flag = join(shimFolder, 'broken');
    await expectCleanEnd(
      {},
      (server) => {
        const env = { ...server.env, LD_PRELOAD: shim, BROKEN_DISK: flag };
        return spawnProgram(process.execPath, ['dist/src/main.js'], env);
      },
      () => writeFileSync(flag, ''),
    );
  });
}

if (unmountProbe === null && shim === null) test('nothing here can be made to fail', () => {});

test.run();
