/** How calls of the client fail, as its sources have it: the built package's errors are other classes. */
import { PixstateError } from '../../src/client/pixstate.ts';
import { rejectionOf } from '../support/expect.ts';

/** The error that a call rejects with. */
export function failure(call: Promise<unknown>) {
  return rejectionOf(PixstateError, call);
}
