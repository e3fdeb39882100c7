/** Databases that older builds left are served by this one. */
import { readsTheSame } from '../older-builds/reads.ts';
import { goesOn } from '../older-builds/serves.ts';
import { copyDatabase } from '../support/older-database.ts';

for (const build of ['70ffb18', '9d9e428']) {
  readsTheSame(`a database of ${build} reads the same`, () => copyDatabase(build));
  goesOn(`a database of ${build} goes on`, () => copyDatabase(build));
}
