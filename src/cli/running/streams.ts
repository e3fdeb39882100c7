/**
 * What this process writes to stdout and stderr, where nobody takes it: the reader is gone, or the disk behind them is
 * full. The work goes on all the same, since what it has begun to write is to come to its end.
 */
import { codeOf } from '../../errors.ts';

/** The reader of our output may leave early, `head` for one: that is no failure. */
const LEFT = 'EPIPE';

/**
 * Has the process go on where its output can't be written. What is lost of stdout is told once, and ends with 1. Gives
 * what writes there; `ifLost`: what to do where this is lost, which is shown once.
 */
export function outliveOutput(): (text: string, ifLost?: string) => void {
  let isTold = false;
  let toDo: string | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isTold || (error.code === LEFT && toDo === undefined)) return;
    isTold = true;
    process.exitCode ||= 1;
    process.stderr.write(
      `error: stdout can't be written (${codeOf(error)}): what was to be read there is lost, what was done is done${toDo === undefined ? '' : `; ${toDo}`}\n`,
    );
  });
  // Nobody can be told.
  process.stderr.on('error', () => {});
  return (text, ifLost) => {
    toDo ??= ifLost;
    process.stdout.write(text);
  };
}
