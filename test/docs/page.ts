/** The README and the pages in docs/, and what a test looks for in them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../support/process.ts';

export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(packageRoot, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export function read(path: string): string {
  return readFileSync(join(packageRoot, path), 'utf8');
}

/** What stands outside code blocks. */
export function proseOf(page: string): string {
  return page.replace(/^( *)```[\s\S]*?^\1```$/gm, '');
}

/** Headings as GitHub names their anchors. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of proseOf(page).matchAll(/^#+ (.+)$/gm)) {
    const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
    const anchor = words.replace(/\s/g, '-');
    let free = anchor;
    for (let n = 1; anchors.has(free); n++) free = `${anchor}-${n}`;
    anchors.add(free);
  }
  return anchors;
}

/** The part below a heading, up to the next one of its level or above. */
export function sectionOf(page: string, heading: string): string {
  const start = page.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`there is no "${heading}"`);
  const rest = page.slice(start + heading.length + 2);
  const level = heading.split(' ')[0] ?? '';
  const end = new RegExp(`\\n#{2,${level.length}} `).exec(rest);
  return end === null ? rest : rest.slice(0, end.index);
}

/** The cells of a part's tables, without their heads. */
export function rowsOf(part: string): string[][] {
  const tables = part
    .split(/\n(?!\|)/)
    .map((piece) => piece.split('\n').filter((line) => line.startsWith('|')));
  return tables.flatMap((lines) =>
    lines.slice(2).map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ),
  );
}

/** What stands in backticks. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}
