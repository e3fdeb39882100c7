/**
 * `npm run bench:console [-- --transactions 1000000 --accounts 20000]`: what the console's page waits for in a store that
 * holds much, and what an open console costs the engine. First each endpoint, one call at a time, on a server that does
 * nothing else; it fails where a promise doesn't hold. Then pairs of equal loads, in turn without and with ten streams
 * and a search a second, and what the engine's thread took for each.
 *
 * It doesn't measure a browser (the tests do), a network, or a server that has its cores to itself.
 */
import { answers } from './console/answers.ts';
import { costs } from './console/costs.ts';
import { runToEnd } from './processes.ts';

await runToEnd(async () => {
  await answers();
  await costs();
});
