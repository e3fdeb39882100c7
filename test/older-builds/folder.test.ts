/** Data folders that older builds left are served by this one. */
import { copyFolder } from '../support/older-build.ts';
import { readsTheSame } from './reads.ts';
import { goesOn } from './serves.ts';

for (const build of ['70ffb18']) {
  readsTheSame(`a data folder of ${build} reads the same`, () => copyFolder(build));
  goesOn(`a data folder of ${build} goes on`, () => copyFolder(build));
}
