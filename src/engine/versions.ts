/** The newest version of the statecharts that has ever served a store: an older one couldn't read what that left. */
import { OperatorError } from '../errors.ts';
import { versionOf } from './chart.ts';
import type { Marks } from './store/marks.ts';

const MARK = 'charts';

function own(): number {
  return Math.max(Number(versionOf('pix-in')), Number(versionOf('cashout')));
}

/** Which version has served the store; 0 where none has. @throws OperatorError where it is a newer one */
export async function expectNoNewerCharts(marks: Marks): Promise<number> {
  const known = Number((await marks.mark(MARK)) ?? 0);
  if (known > own())
    throw new OperatorError(
      `the store was served with version ${known} of the statecharts, and this build knows ${own()}: start the newer one`,
    );
  return known;
}

/** From now on no older version serves the store, or writes to it. @throws OperatorError, as above */
export async function keepCharts(marks: Marks): Promise<void> {
  if ((await expectNoNewerCharts(marks)) < own()) await marks.putMark(MARK, String(own()));
}

/**
 * What was made with a version goes to another store, which no older one serves, or writes to, from then on.
 * @throws OperatorError, as above
 */
export async function carryCharts(from: Marks, to: Marks): Promise<void> {
  const [here, there] = await Promise.all([expectNoNewerCharts(from), expectNoNewerCharts(to)]);
  if (there < here) await to.putMark(MARK, String(here));
}
