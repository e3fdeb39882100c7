/** The version in the package's own description, which lies somewhere above the build. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's version. */
export function packageVersion(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path))
      return String((JSON.parse(readFileSync(path, 'utf8')) as { version: unknown }).version);
    if (dirname(folder) === folder) throw new Error('the package has no package.json');
  }
}
