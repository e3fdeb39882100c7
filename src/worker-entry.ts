/** Where a worker thread's module is found: compiled under plain node, TypeScript where tsx loads it. */
import type { Worker, WorkerOptions } from 'node:worker_threads';

/**
 * What a `Worker` is opened with. `module`: a path without an ending, from the module of `base` (`import.meta.url`),
 * or a whole address.
 */
export function workerEntry(
  base: string,
  module: string | URL,
  options: WorkerOptions,
): ConstructorParameters<typeof Worker> {
  const ending = base.endsWith('.ts') ? 'ts' : 'js';
  const address = module instanceof URL ? module : new URL(`${module}.${ending}`, base);
  if (!address.pathname.endsWith('.ts')) return [address, options];
  // `--import tsx` only takes effect in the main thread: a worker has to register the loader by itself.
  const code = `import { register } from ${JSON.stringify(import.meta.resolve('tsx/esm/api'))};
    register();
    await import(${JSON.stringify(address.href)});`;
  return [new URL(`data:text/javascript,${encodeURIComponent(code)}`), { ...options, execArgv: [] }];
}
