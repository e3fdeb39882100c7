/**
 * The console's files, as the build made them: held in memory, with the compressed ones beside them. The page is the same
 * at every address that names no file; the files that it asks for have hashed names, and never change.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from 'koa';
import { ConsoleError } from './errors.ts';

interface StaticFile {
  bytes: Buffer;
  gz: Buffer | null;
  type: string;
}

/** Files by their paths, from `/`. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};
const PAGE = '/index.html';
const FOR_EVER = 'private, max-age=31536000, immutable';

/** Where the build puts them: `dist/console/`, whether this file is compiled or not. */
function builtFiles(): string {
  const base = import.meta.url;
  const path = base.endsWith('.ts') ? '../../../dist/console/' : '../../../console/';
  return fileURLToPath(new URL(path, base));
}

/** Reads the files of a folder; none where it isn't there. */
export function readStatic(folder = builtFiles()): StaticFiles {
  const files = new Map<string, StaticFile>();
  if (!existsSync(folder)) return files;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const gz = existsSync(`${path}.gz`) ? readFileSync(`${path}.gz`) : null;
    files.set(`/${relative(folder, path).split(sep).join('/')}`, { bytes: readFileSync(path), gz, type });
  }
  return files;
}

/** Answers with a file, or with the page where the path names none. @throws ConsoleError */
export function serveStatic(ctx: Context, files: StaticFiles): void {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
    throw new ConsoleError('METHOD_NOT_ALLOWED', 'The method is not allowed here.', { Allow: 'GET, HEAD' });
  const isPage = extname(ctx.path) === '';
  const file = files.get(isPage ? PAGE : ctx.path);
  if (file === undefined) throw new ConsoleError('NOT_FOUND', 'There is nothing at this path.');
  ctx.set('Cache-Control', isPage || ctx.path === PAGE ? 'no-cache' : FOR_EVER);
  ctx.set('Vary', 'Accept-Encoding');
  const isPacked = file.gz !== null && ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (isPacked) ctx.set('Content-Encoding', 'gzip');
  ctx.body = isPacked ? file.gz : file.bytes;
  ctx.type = file.type;
}
