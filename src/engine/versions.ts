/** The newest version of the statecharts that has ever served a store: an older one couldn't read what that left. */
import { OperatorError } from '../errors.ts';
import { versionOf } from './chart.ts';
import type { Marks } from './store/marks.ts';

const MARK = 'charts';

function own(): number {
  return Math.max(Number(versionOf('pix-in')), Number(versionOf('cashout')));
}

/** @throws OperatorError where a newer one has served the store */
export async function expectNoNewerCharts(marks: Marks): Promise<void> {
  const known = Number((await marks.mark(MARK)) ?? 0);
  if (known > own())
    throw new OperatorError(
      `the store was served with version ${known} of the statecharts, and this build knows ${own()}: start the newer one`,
    );
  if (known < own()) await marks.putMark(MARK, String(own()));
}
