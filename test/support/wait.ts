import { setTimeout as delay } from 'node:timers/promises';

/** Waits for `ms` milliseconds. */
export async function sleep(ms: number): Promise<void> {
  await delay(ms);
}

/**
 * Calls `probe` until it returns something other than undefined, null or false, and returns that.
 * The last call is made at or after the deadline; then it throws, naming `what`.
 */
export async function until<Value>(
  probe: () => Value | Promise<Value>,
  timeoutMs: number,
  what = 'the condition',
): Promise<NonNullable<Exclude<Value, false>>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const last = Date.now() >= deadline;
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) {
      return value as NonNullable<Exclude<Value, false>>;
    }
    if (last) throw new Error(`${what} did not come true within ${timeoutMs} ms`);
    await sleep(Math.max(1, Math.min(20, deadline - Date.now())));
  }
}

/** Runs `body` for every item, `width` at a time; throws the first error once all under way have ended. */
export async function eachOf<Item>(
  items: readonly Item[],
  width: number,
  body: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = [...items];
  async function worker(): Promise<void> {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await body(item);
  }
  const results = await Promise.allSettled(Array.from({ length: width }, worker));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
