/** Claims on bank orders that end in the write of the message which they brought. */
import type { Answer } from '../commands.ts';
import type { Claim, ClaimOf } from '../store/due.ts';

/** Such a claim; `isEnded` once it has ended so, and needs no settlement. */
export interface Ending {
  readonly claim: ClaimOf<'bank'>;
  isEnded: boolean;
}

/** What ends with a batch: not what brought a message to a transaction that ops have to look at first. */
export function endingsOf(
  tickets: readonly { ending: Ending | null }[],
  answers: readonly (Answer | Error)[],
): Ending[] {
  return tickets.flatMap(({ ending }, index) => {
    const answer = answers[index];
    const isDone = answer !== undefined && !(answer instanceof Error) && answer.kind !== 'quarantined';
    return ending !== null && isDone ? [ending] : [];
  });
}

/** Marks those whose claims ended. */
export function tellEnded(endings: readonly Ending[], ended: readonly Claim[]): void {
  const tokens = new Set(ended.map(({ token }) => token));
  for (const ending of endings) ending.isEnded = tokens.has(ending.claim.token);
}
