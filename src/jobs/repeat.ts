/** Work that is done again and again, one run at a time. */

/** A repetition that goes on until it is ended. */
export interface Repetition {
  /** Begins a run without waiting for its time, unless one is under way. */
  now(): void;
  /** Lets no further run begin and waits for the one under way. Never rejects. */
  end(): Promise<void>;
}

/**
 * Does the work every so often, for the first time after `everyMs`. A run that throws is told to `onError`, which
 * must not throw, and changes nothing for the next one; a run that takes longer lets the times pass that it covers.
 */
export function repeat(
  everyMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Repetition {
  let underWay: Promise<void> | null = null;
  const now = (): void => {
    // By way of `then`, so that work that throws before it gives a promise is told like any other.
    underWay ??= Promise.resolve()
      .then(work)
      .catch(onError)
      .finally(() => {
        underWay = null;
      });
  };
  const timer = setInterval(now, everyMs);
  const end = async (): Promise<void> => {
    clearInterval(timer);
    await underWay;
  };
  return { now, end };
}
