/** The only clock of the pages: it follows the server's, since a browser's may be an hour off. */
import { useEffect, useState } from 'preact/hooks';

/** A difference below this is the answer's way and the header's whole seconds. */
const NOTICEABLE_MS = 2_000;

let offsetMs = 0;

/** ms since 1970, by the server's clock. */
export function now(): number {
  return Date.now() + offsetMs;
}

/** Takes over the time of an answer: its `Date` header. */
export function followServer(date: string | null): void {
  if (date === null) return;
  const difference = Date.parse(date) - Date.now();
  if (Number.isNaN(difference)) return;
  offsetMs = Math.abs(difference) < NOTICEABLE_MS ? 0 : difference;
}

const listeners = new Set<(time: number) => void>();
let ticking: number | undefined;

function tick(): void {
  const time = now();
  for (const listener of listeners) listener(time);
}

/** The time, anew each second: one interval for whatever number of ages and countdowns. */
export function useNow(): number {
  const [time, setTime] = useState(now);
  useEffect(() => {
    listeners.add(setTime);
    ticking ??= window.setInterval(tick, 1_000);
    return () => {
      listeners.delete(setTime);
      if (listeners.size > 0) return;
      clearInterval(ticking);
      ticking = undefined;
    };
  }, []);
  return time;
}
