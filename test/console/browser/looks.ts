/** How a page is looked at: in both themes and languages, wide and narrow; nothing runs over, and axe finds nothing. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { Look } from './stage.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** A folder for pictures of all pages, where somebody wants to look at them. */
const PICTURES = process.env.PICTURES;

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const options = JSON.stringify({ runOnly: { type: 'tag', values: LEVELS } });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

function runsOver(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

/** Cells of tables that another part's style has taken for its own; narrow pages show rows as cards. */
function strayCells(page: Page): Promise<string[]> {
  return page.evaluate(`innerWidth < 1000 ? [] : [...document.querySelectorAll('td, th')]
    .filter((cell) => !['table-cell', 'none'].includes(getComputedStyle(cell).display))
    .map((cell) => cell.outerHTML.slice(0, 100))`);
}

export async function check(watched: { page: Page }, name: string): Promise<void> {
  const { page } = watched;
  if (PICTURES !== undefined)
    await page.screenshot({ path: join(PICTURES, `${name.replace(/\W+/g, '-')}.png`) });
  assert.is(await runsOver(page), false, `${name}: it runs over`);
  assert.equal(await strayCells(page), [], name);
  assert.equal(await violations(page), [], name);
}

/** Both themes and languages, wide and on phones. */
export const LOOKS: Look[] = [
  { width: 1280, theme: 'light', language: 'pt-BR' },
  { width: 1280, theme: 'dark', language: 'en-GB' },
  { width: 390, theme: 'dark', language: 'pt-BR' },
  { width: 320, theme: 'light', language: 'en-GB' },
];
