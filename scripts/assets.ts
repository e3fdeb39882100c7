/**
 * Builds what the console sends to browsers: one page, one script, one style sheet and an icon, with hashed names, each
 * with its gzip beside it. Together they may be 45 kB on the wire.
 *
 *   node --import tsx scripts/assets.ts FOLDER
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import type { Charts } from '../src/console/ui/chart/geometry.ts';
import { drawAll } from './charts.ts';

const UI = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src', 'console', 'ui');
const MOST_BYTES = 45 * 1_000;

/** What `pixstate:charts` is in the bundle. The text is parsed where it is used: that is quicker than a literal. */
function chartsPlugin(charts: Charts): Plugin {
  return {
    name: 'charts',
    setup(bundle) {
      bundle.onResolve({ filter: /^pixstate:charts$/ }, ({ path }) => ({ path, namespace: 'charts' }));
      bundle.onLoad({ filter: /.*/, namespace: 'charts' }, () => ({
        contents: JSON.stringify(charts),
        loader: 'json',
      }));
    },
  };
}

/** A file's name with its content's hash, and the bytes that were written. */
function write(folder: string, name: string, extension: string, content: Uint8Array): [string, number] {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const file = `${name}-${hash}.${extension}`;
  const packed = gzipSync(content, { level: 9 });
  writeFileSync(join(folder, file), content);
  writeFileSync(join(folder, `${file}.gz`), packed);
  return [file, packed.length];
}

async function bundle(charts: Charts): Promise<{ script: Uint8Array; style: Uint8Array }> {
  const { outputFiles } = await build({
    entryPoints: [join(UI, 'main.tsx'), join(UI, 'style.css')],
    outdir: 'out',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    charset: 'utf8',
    legalComments: 'none',
    plugins: [chartsPlugin(charts)],
  });
  const of = (extension: string): Uint8Array => {
    const found = outputFiles.find(({ path }) => path.endsWith(extension));
    if (found === undefined) throw new Error(`the bundle has no ${extension}`);
    return found.contents;
  };
  return { script: of('.js'), style: of('.css') };
}

/** Builds into a folder, which is made. @throws where the budget is exceeded */
export async function buildAssets(folder: string): Promise<number> {
  mkdirSync(folder, { recursive: true });
  const { script, style } = await bundle(await drawAll());
  const files = {
    script: write(folder, 'console', 'js', script),
    style: write(folder, 'console', 'css', style),
    icon: write(folder, 'icon', 'svg', readFileSync(join(UI, 'icon.svg'))),
  };
  const page = readFileSync(join(UI, 'index.html'), 'utf8').replace(
    /%(\w+)%/g,
    (_, name: keyof typeof files) => `/${files[name][0]}`,
  );
  const packed = gzipSync(page, { level: 9 });
  writeFileSync(join(folder, 'index.html'), page);
  writeFileSync(join(folder, 'index.html.gz'), packed);
  const bytes = Object.values(files).reduce((sum, [, size]) => sum + size, packed.length);
  if (bytes > MOST_BYTES)
    throw new Error(`the console is ${bytes} bytes on the wire; its budget is ${MOST_BYTES}`);
  return bytes;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = argv;
  if (folder === undefined) throw new Error('which folder?');
  await buildAssets(folder);
}
