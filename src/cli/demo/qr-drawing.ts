/** Draws QR codes on terminals: two rows of modules to a line, by the upper and the lower half block. */
import type { WriteStream } from 'node:tty';
import { create } from 'qrcode';

/** Light modules around the symbol, which scanners need to find it (ISO/IEC 18004). */
const QUIET_ZONE = 4;
const BLACK_ON_WHITE = '\x1b[30;47m';
const NO_COLOURS = '\x1b[0m';

/** Whether each module of a row is dark, the quiet zone included; beyond the symbol all are light. */
type Row = readonly boolean[];

function rowsOf(text: string): Row[] {
  const { modules } = create(text, {});
  const width = modules.size + 2 * QUIET_ZONE;
  const isInside = (at: number): boolean => at >= 0 && at < modules.size;
  // An even number of rows, since a line holds two: the last one may be a light row more.
  return Array.from({ length: width + (width % 2) }, (_, y) =>
    Array.from({ length: width }, (_, x) => {
      const [row, column] = [y - QUIET_ZONE, x - QUIET_ZONE];
      return isInside(row) && isInside(column) && modules.get(row, column) === 1;
    }),
  );
}

/** The character whose upper and lower half are filled or not. */
function block(upper: boolean, lower: boolean): string {
  if (upper) return lower ? '█' : '▀';
  return lower ? '▄' : ' ';
}

function linesOf(rows: readonly Row[], isFilled: (isDark: boolean) => boolean): string[] {
  const pairs = rows.flatMap((upper, at) => (at % 2 === 0 ? [{ upper, lower: rows[at + 1] ?? [] }] : []));
  return pairs.map(({ upper, lower }) =>
    upper.map((isDark, x) => block(isFilled(isDark), isFilled(lower[x] ?? false))).join(''),
  );
}

/** Black on white, whatever the terminal's own colours; each line ends with them as they were. */
export function drawColoured(text: string): string {
  const lines = linesOf(rowsOf(text), (isDark) => isDark);
  return lines.map((line) => `${BLACK_ON_WHITE}${line}${NO_COLOURS}`).join('\n');
}

/**
 * Without a single escape sequence. The light modules are the ones that are filled, so the code is as it should be
 * on a dark terminal, as most are; on a light one it is a negative, which most scanners read as well.
 */
export function drawPlain(text: string): string {
  return linesOf(rowsOf(text), (isDark) => !isDark).join('\n');
}

/**
 * The drawing for those who look at `out`: none where it is no terminal, since nobody scans a file or a pipe; a
 * plain one where colours aren't wanted (NO_COLOR) or known.
 */
export function drawingFor(out: WriteStream, text: string): string | null {
  if (!out.isTTY) return null;
  return out.hasColors() ? drawColoured(text) : drawPlain(text);
}
