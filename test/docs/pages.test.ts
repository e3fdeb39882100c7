/** The README is short, links lead somewhere, and no command or example of a page escapes `npm run docs`. */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Block, blocksOf } from '../../scripts/docs/blocks.ts';
import { packageRoot } from '../support/process.ts';
import { anchorsOf, pages, proseOf, read } from './page.ts';

const test = suite('docs/pages');

const README_BYTES = 8_192;
/** Its blocks are run by `test/mongodb/docs.test.ts`. */
const ON_MONGODB = 'docs/mongodb.md';
/** What came of commands that stand on another page. */
const OF_FIGURES = 'docs/measurements.md';

interface Link {
  page: string;
  /** As it stands there. */
  target: string;
  path: string;
  anchor: string | null;
}

/** The links of a page to files and headings of the project. */
function linksOf(page: string): Link[] {
  const found = [...proseOf(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return found
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor = null] = target.split('#');
      const path = file === '' ? page : posix.join(posix.dirname(page), file);
      return { page, target, path, anchor };
    });
}

const links = pages.flatMap(linksOf);

test('the README is read in three minutes', () => {
  const bytes = Buffer.byteLength(read('README.md'));
  assert.ok(bytes <= README_BYTES, `${bytes} bytes`);
});

test('every link leads to a file, and to a heading that is there', () => {
  assert.ok(links.length > 40, `${links.length} links`);
  const dead = links.filter(({ path, anchor }) => {
    if (!existsSync(join(packageRoot, path))) return true;
    return anchor !== null && !anchorsOf(read(path)).has(anchor);
  });
  assert.equal(
    dead.map(({ page, target }) => `${page}: ${target}`),
    [],
  );
});

test('every page is linked from the README', () => {
  const linked = links.filter(({ page }) => page === 'README.md').map(({ path }) => path);
  assert.equal(
    pages.filter((page) => page !== 'README.md' && !linked.includes(page)),
    [],
  );
});

test('every block that could run says what becomes of it', () => {
  assert.equal(blocksOf(read(OF_FIGURES)), []);
  for (const page of pages.filter((each) => each !== ON_MONGODB && each !== OF_FIGURES)) {
    const blocks: Block[] = blocksOf(read(page));
    const run = blocks.filter(({ kind }) => kind === 'run' || kind === 'fails' || kind === 'background');
    assert.ok(run.length > 1, `${page} runs ${run.length} blocks`);
    for (const block of blocks)
      if (block.kind === 'shown' && block.language === 'json') JSON.parse(block.code);
  }
});

test('a block that says nothing, or a marker without a block, is found', () => {
  const block = (language: string): string => `\`\`\`${language}\necho\n\`\`\`\n`;
  const unmarked = /says neither "run" nor "not run"/;
  for (const language of ['sh', 'js', 'python']) assert.throws(() => blocksOf(block(language)), unmarked);
  assert.throws(() => blocksOf(`  \`\`\`sh\n  echo\n  \`\`\`\n`), unmarked);
  assert.throws(() => blocksOf(`<!-- run: a -->\n\n${block('sh')}`), /stands above no block/);
  assert.throws(() => blocksOf(`<!-- ran: a -->\n${block('sh')}`), /marked "ran: a"/);
  assert.throws(() => blocksOf(block('')), /a block in ""/);
  assert.throws(() => blocksOf(block('bash')), /a block in "bash"/);
  assert.throws(() => blocksOf('```sh\necho\n'), /without an end/);
});

test('markers are read as they are meant', () => {
  const read = (marker: string): Block[] => blocksOf(`Text\n<!-- ${marker} -->\n\`\`\`sh\necho\n\`\`\`\n`);
  const sh = { language: 'sh', code: 'echo\n' };
  assert.equal(read('run: a'), [{ kind: 'run', ...sh, expected: 'a', stopped: false }]);
  assert.equal(read('stopped; run: a: b'), [{ kind: 'run', ...sh, expected: 'a: b', stopped: true }]);
  assert.equal(read('fails: a'), [{ kind: 'fails', ...sh, expected: 'a' }]);
  assert.equal(read('background: a; at last: b'), [
    { kind: 'background', ...sh, expected: 'a', atLast: 'b' },
  ]);
  assert.equal(read('not run: why'), [{ kind: 'notRun', code: 'echo\n', reason: 'why' }]);
  assert.equal(read('credentials'), [{ kind: 'credentials' }]);
});

test.run();
