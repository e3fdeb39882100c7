/** What a run is made of: the same for every variant, so that figures compare. */

function option(name: string, otherwise: number): number {
  const index = process.argv.indexOf(name);
  return index < 0 ? otherwise : Number(process.argv[index + 1]);
}

function words(name: string, otherwise: readonly string[]): readonly string[] {
  const index = process.argv.indexOf(name);
  return index < 0 ? otherwise : (process.argv[index + 1] ?? '').split(',');
}

export const CLIENTS = option('--clients', 64);
export const MANY_CLIENTS = option('--many-clients', 512);
/** Requests of a row. */
export const REQUESTS = option('--requests', 40_000);
export const LIFECYCLES = option('--lifecycles', 20_000);
export const ACCOUNTS = 256;
/** GB that WiredTiger keeps in memory. */
export const CACHE_GB = option('--cache-gb', 0.5);
/** What the proxy adds to a round trip. */
export const LATENCY_MS = option('--latency-ms', 2);
export const PHASES = words('--phases', ['stores', 'processes', 'latency']);
