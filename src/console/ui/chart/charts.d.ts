/** The drawings that `scripts/charts.ts` makes of `machines/` when the bundle is built. */
declare module 'pixstate:charts' {
  import type { Charts } from './geometry.ts';

  const charts: Charts;
  export default charts;
}
