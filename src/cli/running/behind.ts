/** What comes behind a command's work, once its answer is durable: nothing of that is undone where it fails. */
import { textOf } from '../../errors.ts';
import type { Output } from '../output.ts';

/** Tells in a line that it has failed. */
export function tellBehind(output: Output, error: unknown): void {
  output.aside(
    `what was done is done; what follows from it is made up for by the next start: ${textOf(error)}\n`,
  );
}

/** Does what is left to do, which is no affair of the answer: where it fails, a line says so. */
export async function behind(output: Output, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    tellBehind(output, error);
  }
}
