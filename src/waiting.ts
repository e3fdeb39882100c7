/** Waiting: for a while, at most so long, again until it works, once for all. */

/** Resolves after so many ms. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Waits for the work, at most `ms`. Work that takes longer goes on; its outcome is nobody's then.
 * @throws what `late` gives, after `ms`
 */
export async function within<Result>(ms: number, work: Promise<Result>, late: () => Error): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Does the work until it succeeds. `pauseAfter` gives the ms until the next attempt (they count from 1), or null
 * where another attempt is no use.
 * @throws the error after which `pauseAfter` gave null
 */
export async function again<Result>(
  work: () => Promise<Result>,
  pauseAfter: (error: unknown, attempt: number) => number | null,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const ms = pauseAfter(error, attempt);
      if (ms === null) throw error;
      await pause(ms);
    }
  }
}

/** A call of what it is given, once for all who ask for it in one turn of the event loop, at the turn's end. */
export function onceATurn(work: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    setImmediate(() => {
      asked = false;
      work();
    });
  };
}
