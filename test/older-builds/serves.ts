/**
 * A server goes on with what an older build left when it was killed. Nothing here depends on how long ago that was:
 * whatever was due is due by now, and what may or may not be is left alone.
 */
import { fixtureSuite } from '../support/fixture.ts';
import type { Copy } from '../support/older-build.ts';
import { goesOnWithBusiness, isDecided, isKnown } from './business.ts';
import { serve } from './served.ts';
import { deliveriesGoOn, dueLater, inHand } from './under-way.ts';

/** A suite over a store that `copied` restores. */
export function goesOn(name: string, copied: () => Promise<Copy>): void {
  const suite = fixtureSuite(name, async (defer) => {
    const { served, end } = await serve(copied);
    defer(end);
    return served;
  });
  inHand(suite);
  isKnown(suite);
  dueLater(suite);
  deliveriesGoOn(suite);
  isDecided(suite);
  goesOnWithBusiness(suite);
  suite.run();
}
