/**
 * The code blocks of a page. A block in a language that runs says in a comment right above it what becomes of it:
 *
 * - `<!-- run: TEXT -->`: it must succeed and print TEXT. `<!-- stopped; run: TEXT -->`: so, after the server's end.
 * - `<!-- fails: TEXT -->`: it must fail and say TEXT on stderr.
 * - `<!-- background: TEXT; at last: MORE -->`: it runs beside the blocks that follow, prints TEXT before they
 *   start, and MORE before the page is at its end.
 * - `<!-- credentials -->`: the reader fills in what the server printed.
 * - `<!-- not run: REASON -->`
 */

const RUNNABLE = ['sh', 'js', 'python'] as const;
const SHOWN = ['json', 'text'];

export type Language = (typeof RUNNABLE)[number];

export type Block =
  | { kind: 'run'; language: Language; code: string; expected: string; stopped: boolean }
  | { kind: 'fails'; language: Language; code: string; expected: string }
  | { kind: 'background'; language: Language; code: string; expected: string; atLast: string }
  | { kind: 'credentials' }
  | { kind: 'notRun'; code: string; reason: string }
  | { kind: 'shown'; language: string; code: string };

const MARKER = /^<!-- (.*) -->$/;
const FENCE = /^( *)```(.*)$/;

function isRunnable(language: string): language is Language {
  return RUNNABLE.some((each) => each === language);
}

function marked(marker: string, language: Language, code: string): Block | null {
  if (marker === 'credentials') return { kind: 'credentials' };
  const [, reason] = /^not run: (.+)$/.exec(marker) ?? [];
  if (reason !== undefined) return { kind: 'notRun', code, reason };
  const [, said] = /^fails: (.+)$/.exec(marker) ?? [];
  if (said !== undefined) return { kind: 'fails', language, code, expected: said };
  const [, stopped, expected] = /^(stopped; )?run: (.+)$/.exec(marker) ?? [];
  if (expected !== undefined)
    return { kind: 'run', language, code, expected, stopped: stopped !== undefined };
  const [, first, atLast] = /^background: (.+); at last: (.+)$/.exec(marker) ?? [];
  if (first === undefined || atLast === undefined) return null;
  return { kind: 'background', language, code, expected: first, atLast };
}

/** @throws Error naming the line, where a block that could run says nothing of it, or its language isn't known. */
function blockOf(language: string, code: string, marker: string | null, line: number): Block {
  if (SHOWN.includes(language) && marker === null) return { kind: 'shown', language, code };
  if (!isRunnable(language)) throw new Error(`line ${line}: a block in "${language}"`);
  if (marker === null) throw new Error(`line ${line}: a block that says neither "run" nor "not run"`);
  const block = marked(marker, language, code);
  if (block === null) throw new Error(`line ${line}: a block marked "${marker}"`);
  return block;
}

/** The blocks of a page in Markdown, in order. @throws Error naming the line that can't be read. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  const lines = page.split('\n');
  let marker: string | null = null;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? '';
    const [, indent, language = ''] = FENCE.exec(line) ?? [];
    if (indent === undefined) {
      if (marker !== null) throw new Error(`line ${index}: "${marker}" stands above no block`);
      marker = MARKER.exec(line)?.[1] ?? null;
      continue;
    }
    const end = lines.indexOf(`${indent}\`\`\``, index + 1);
    if (end < 0) throw new Error(`line ${index + 1}: a block without an end`);
    const code = lines.slice(index + 1, end).map((each) => each.slice(indent.length));
    blocks.push(blockOf(language, `${code.join('\n')}\n`, marker, index + 1));
    marker = null;
    index = end;
  }
  return blocks;
}
