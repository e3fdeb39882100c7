/** Reads that take long: a few at a time, one of an account, accounts in turns. */
import { inTurn, Semaphore } from '../../waiting.ts';
import type { SendOptions } from '../engine.ts';
import { Abandoned } from './host.ts';

/** Does the work at its turn. @throws Abandoned where nobody waits for it any more then */
export type AtItsTurn = <Result>(
  account: string,
  { abandoned }: Pick<SendOptions, 'abandoned'>,
  work: () => Promise<Result>,
) => Promise<Result>;

/** Turns of one kind of reads, of which so many are under way at once. */
export function turnsOf(kind: string, most: number): AtItsTurn {
  const places = new Semaphore(most);
  return (account, { abandoned }, work) => {
    const expectWanted = (): void => {
      if (abandoned?.() === true) throw new Abandoned();
    };
    return inTurn(`${kind} of ${account}`, async () => {
      expectWanted();
      await places.acquire();
      try {
        expectWanted();
        return await work();
      } finally {
        places.release();
      }
    });
  };
}
