/**
 * Does what the README and the pages in docs/ say: runs their commands and examples, page by page, each with a
 * server of its own. `docs/mongodb.md` is run by `test/mongodb/docs.test.ts`, on MongoDB.
 *
 *   npm run docs [-- PAGE...]
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BANK_PAGE, openBankPage } from './docs/bank-page.ts';
import { blocksOf } from './docs/blocks.ts';
import { Reader } from './docs/reader.ts';

const ELSEWHERE = ['docs/mongodb.md'];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);

function allPages(): string[] {
  const pages = readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return ['README.md', ...pages.filter((page) => page.endsWith('.md') && !ELSEWHERE.includes(page)).sort()];
}

let reader: Reader | null = null;

async function readPage(page: string): Promise<void> {
  const blocks = blocksOf(readFileSync(page, 'utf8'));
  console.log(`\n${page}`);
  const bankPage = page === BANK_PAGE ? await openBankPage() : null;
  reader = bankPage?.reader ?? (await Reader.open());
  try {
    for (const block of blocks) console.log(`  ${await reader.read(block)}`);
    await reader.finish();
  } finally {
    await reader.close();
    reader = null;
    await bankPage?.close();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    reader?.abandon();
    process.exit(1);
  });
}
const given = process.argv.slice(2);
const pages = given.length > 0 ? given : allPages();
for (const page of pages) await readPage(page);
console.log(`\n${pages.length} pages are true`);
