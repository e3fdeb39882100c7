/** The QR code that the demo draws, read back into its modules, on terminals of their own and without one. */
import { create } from 'qrcode';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drawColoured, drawPlain } from '../../src/cli/demo/qr-drawing.ts';
import { endWithin, spawnProgram } from '../support/process.ts';

const test = suite('QR drawing');

const ESCAPE = '\x1b';
const TEXTS = ['a', 'https://example.com/pix/1', '00020126'.repeat(20), 'x'.repeat(500)];
const QUIET_ZONE = 4;

/** Rows of modules as text, `#` for a dark one, without the light ones around. */
function matrixOf(text: string): string[] {
  const { modules } = create(text, {});
  return Array.from({ length: modules.size }, (_, row) =>
    Array.from({ length: modules.size }, (_, column) => (modules.get(row, column) === 1 ? '#' : '.')).join(
      '',
    ),
  );
}

/** What a scanner sees of lines of half blocks: `filled` is what a filled half is to it, `empty` the rest. */
function scanned(lines: readonly string[], filled: string, empty: string): string[] {
  const half = (line: string, full: string): string =>
    [...line].map((character) => (`█${full}`.includes(character) ? filled : empty)).join('');
  for (const line of lines) assert.match(line, /^[█▀▄ ]+$/);
  return lines.flatMap((line) => [half(line, '▀'), half(line, '▄')]);
}

/** The symbol without its quiet zone, which must be light on all sides. */
function withoutQuietZone(rows: readonly string[], size: number): string[] {
  const inner = rows.slice(QUIET_ZONE, QUIET_ZONE + size);
  const around = [...rows.slice(0, QUIET_ZONE), ...rows.slice(QUIET_ZONE + size)];
  assert.ok(around.length >= 2 * QUIET_ZONE && around.length <= 2 * QUIET_ZONE + 1);
  for (const row of around) assert.is(row, '.'.repeat(size + 2 * QUIET_ZONE));
  for (const row of inner) {
    assert.is(row.slice(0, QUIET_ZONE) + row.slice(QUIET_ZONE + size), '.'.repeat(2 * QUIET_ZONE));
  }
  return inner.map((row) => row.slice(QUIET_ZONE, QUIET_ZONE + size));
}

/** Compares a drawing with the code's own modules. */
function expectColoured(drawing: string, text: string): void {
  const matrix = matrixOf(text);
  const lines = drawing.split('\n').map((line) => {
    assert.ok(line.startsWith(`${ESCAPE}[30;47m`) && line.endsWith(`${ESCAPE}[0m`), JSON.stringify(line));
    return line.slice(`${ESCAPE}[30;47m`.length, -`${ESCAPE}[0m`.length);
  });
  assert.equal(withoutQuietZone(scanned(lines, '#', '.'), matrix.length), matrix);
}

function expectPlain(drawing: string, text: string): void {
  const matrix = matrixOf(text);
  assert.equal(withoutQuietZone(scanned(drawing.split('\n'), '.', '#'), matrix.length), matrix);
}

test('both drawings are the code, module by module', () => {
  for (const text of TEXTS) {
    expectColoured(drawColoured(text), text);
    expectPlain(drawPlain(text), text);
  }
});

/** What the demo of the built package writes: the code's text, and what stands between it and what follows. */
async function demoShows(program: string, args: string[]): Promise<{ text: string; drawing: string }> {
  const { code, stdout, stderr } = await endWithin(spawnProgram(program, args, {}), 60_000);
  assert.is(code, 0, `${stdout}${stderr}`);
  const shown = stdout.replaceAll('\r\n', '\n');
  const lines = shown.split('\n');
  const at = lines.findIndex((line) => line.startsWith('000201'));
  const isDrawn = (line: string): boolean => /[█▀▄]/.test(line) || line.includes(ESCAPE);
  const end = lines.findIndex((line, index) => index > at && !isDrawn(line));
  const drawing = lines.slice(at + 1, end).join('\n');
  assert.ok(at > 0 && end > at, shown);
  assert.ok(![...lines.slice(0, at + 1), ...lines.slice(end)].join('').includes(ESCAPE), shown);
  return { text: lines[at] ?? '', drawing };
}

const DEMO = `'${process.execPath}' dist/src/cli/pixstate.js demo`;

/** A terminal of its own (`script` of util-linux), and of the environment no more than is given: CI has no colours. */
function onTerminal(environment: string): Promise<{ text: string; drawing: string }> {
  return demoShows('script', [
    '-qec',
    `env -i PATH="$PATH" TERM=xterm-256color ${environment} ${DEMO}`,
    '/dev/null',
  ]);
}

test('on a terminal with colours the demo draws black on white, with no escape sequence after it', async () => {
  const { text, drawing } = await onTerminal('');
  expectColoured(drawing, text);
});

test('with NO_COLOR it draws without escape sequences', async () => {
  const { text, drawing } = await onTerminal('NO_COLOR=1');
  expectPlain(drawing, text);
});

test('where stdout is no terminal there is the text of the code, and no drawing', async () => {
  const { drawing } = await demoShows('/bin/sh', ['-c', `env -u NO_COLOR TERM=xterm-256color ${DEMO}`]);
  assert.is(drawing, '');
});

test.run();
