/**
 * The evidence: each sentence of the interface's additions and each rule of the bank's connector names tests, and they
 * are there under these titles.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../support/process.ts';

const test = suite('docs/evidence');

/** A sentence, and the tests that show it: paths below `test/`, and titles as the sources have them. */
interface Sentence {
  text: string;
  shownBy: { path: string; title: string }[];
}

function sentencesOf(page: string): Sentence[] {
  const sentences: Sentence[] = [];
  for (const line of page.split('\n')) {
    const [, text] = /^- (.+)$/.exec(line) ?? [];
    const [, path, title] = /^ {2}- `([\w/-]+)` (.+)$/.exec(line) ?? [];
    if (text !== undefined) sentences.push({ text, shownBy: [] });
    else if (path !== undefined && title !== undefined) sentences.at(-1)?.shownBy.push({ path, title });
    else assert.ok(line === '' || /^(#|[A-Z])/.test(line), `what is "${line}"?`);
  }
  return sentences;
}

/** The titles of a file's tests; of those made in a loop, their templates. */
function titlesOf(path: string): Set<string> {
  const [file] = ['test.ts', 'ts']
    .map((end) => join(packageRoot, 'test', `${path}.${end}`))
    .filter(existsSync);
  if (file === undefined) throw new Error(`there is no test/${path}`);
  const titles = [...readFileSync(file, 'utf8').matchAll(/\b(?:test|s)\(\s*(['"`])(.+?)\1,/g)];
  return new Set(titles.map(([, , title = '']) => title));
}

for (const name of ['additions', 'bank'])
  test(`${name}: every sentence names tests that are there`, () => {
    const sentences = sentencesOf(
      readFileSync(join(packageRoot, 'test', 'docs', 'evidence', `${name}.md`), 'utf8'),
    );
    assert.ok(sentences.length > 50, `${sentences.length} sentences`);
    const missing: string[] = [];
    for (const { text, shownBy } of sentences) {
      if (shownBy.length === 0) missing.push(`nothing shows: ${text}`);
      for (const { path, title } of shownBy)
        if (!titlesOf(path).has(title)) missing.push(`${path} has no test "${title}"`);
    }
    assert.equal(missing, []);
  });

test.run();
