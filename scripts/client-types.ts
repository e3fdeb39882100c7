/**
 * Makes the types of `pixstate/client` again: npm run client:types
 *
 * `test/client/package.test.ts` fails where what is committed is something else.
 */
import { writeFileSync } from 'node:fs';
import { clientTypes, TYPES_FILE } from './client/types.ts';

writeFileSync(TYPES_FILE, await clientTypes());
