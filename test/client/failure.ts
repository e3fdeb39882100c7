/** How calls of the client fail, as its sources have it: the built package's errors are other classes. */
import { PixstateError } from '../../src/client/pixstate.ts';

/** The error that a call rejects with. */
export async function failure(call: Promise<unknown>) {
  try {
    await call;
  } catch (error) {
    if (error instanceof PixstateError) return error;
    throw error;
  }
  throw new Error('the call succeeded');
}
