/**
 * Loaded before a server: its wall clock is off by `CLOCK_OFFSETS` (ms, a list with commas). It begins with the first
 * one; SIGUSR2 sets the next. Only `Date` is off: timers and `performance.now` go on, as when somebody sets the clock.
 * The sender's thread, which can't hear the signal, keeps the right time.
 */
import { isMainThread } from 'node:worker_threads';

const offsets = (process.env.CLOCK_OFFSETS ?? '0').split(',').map(Number);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(ShiftedDate.now());
    else super(...args);
  }

  static now() {
    return RealDate.now() + offsets[0];
  }
}

if (isMainThread) {
  globalThis.Date = ShiftedDate;
  process.on('SIGUSR2', () => {
    if (offsets.length > 1) offsets.shift();
  });
}
