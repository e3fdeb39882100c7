/**
 * Builds what the console sends to browsers: one page, its script, one style sheet, an icon and the words of one
 * language, with hashed names, each with its gzip beside it. Together they may be 45 kB on the wire. Scripts of pages
 * that few open come later: each may be 10 kB.
 *
 *   node --import tsx scripts/assets.ts FOLDER
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import type { Charts } from '../src/console/ui/chart/geometry.ts';
import { drawAll } from './charts.ts';

const UI = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src', 'console', 'ui');
const MOST_BYTES = 45 * 1_000;
const MOST_LATER_BYTES = 12 * 1_000;

/** The charts that pages draw: a delivery's stands beside its attempts, where only the tall one fits. */
function shownOf(charts: Charts): Charts {
  return Object.fromEntries(
    Object.entries(charts).map(([id, chart]) => [
      id,
      id === 'webhook-delivery' ? { ...chart, wide: chart.tall } : chart,
    ]),
  );
}

/** What `pixstate:charts` is in the bundle. The text is parsed where it is used: that is quicker than a literal. */
function chartsPlugin(charts: Charts): Plugin {
  return {
    name: 'charts',
    setup(bundle) {
      bundle.onResolve({ filter: /^pixstate:charts$/ }, ({ path }) => ({ path, namespace: 'charts' }));
      bundle.onLoad({ filter: /.*/, namespace: 'charts' }, () => ({
        contents: JSON.stringify(shownOf(charts)),
        loader: 'json',
      }));
    },
  };
}

/** A file that is written. */
interface Made {
  name: string;
  content: Uint8Array;
}

/** What the console is made of. */
interface Bundle {
  script: Made;
  style: Made;
  /** What the script asks for at once. */
  shared: Made[];
  /** Each language's words: a reader asks for one of them. */
  words: Made[];
  /** What it asks for when a page is opened. */
  later: Made[];
}

/** The bytes on the wire of what was written. */
function write(folder: string, { name, content }: Made): number {
  const packed = gzipSync(content, { level: 9 });
  writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, `${name}.gz`), packed);
  return packed.length;
}

function icon(): Made {
  const content = readFileSync(join(UI, 'icon.svg'));
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  return { name: `icon-${hash}.svg`, content };
}

async function bundle(charts: Charts): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: { console: join(UI, 'main.tsx'), style: join(UI, 'style.css') },
    outdir: 'out',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    metafile: true,
    splitting: true,
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
  const made = outputFiles.map(({ path, contents }) => ({ name: basename(path), content: contents }));
  const of = (form: RegExp): Made => {
    const found = made.find(({ name }) => form.test(name));
    if (found === undefined) throw new Error(`the bundle has no ${form.source}`);
    return found;
  };
  const [script, style] = [of(/^console-.*\.js$/), of(/^style-.*\.css$/)];
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, each]) => [basename(path), each]));
  const names = new Set<string>();
  const add = (name: string): void => {
    for (const { kind, path } of outputs.get(name)?.imports ?? []) {
      if (kind !== 'import-statement' || names.has(basename(path))) continue;
      names.add(basename(path));
      add(basename(path));
    }
  };
  add(script.name);
  const shared = made.filter(({ name }) => names.has(name));
  const rest = made.filter((each) => each !== script && each !== style && !shared.includes(each));
  const words = rest.filter(({ name }) => name.startsWith('words.'));
  return { script, style, shared, words, later: rest.filter((each) => !words.includes(each)) };
}

/** The page, with the names of what it asks for. */
function pageOf({ script, style, shared }: Bundle, icon: Made): string {
  const preload = shared.map(({ name }) => `<link rel="modulepreload" href="/${name}" />`).join('');
  const values: Record<string, string> = {
    ...{ icon: `/${icon.name}`, style: `/${style.name}`, script: `/${script.name}`, preload },
  };
  return readFileSync(join(UI, 'index.html'), 'utf8').replace(/%(\w+)%/g, (_, name) => values[name] ?? '');
}

/** Builds into a folder, which is made. @throws where the budget is exceeded */
async function buildAssets(folder: string): Promise<number> {
  mkdirSync(folder, { recursive: true });
  const made = await bundle(await drawAll());
  const mark = icon();
  const page = pageOf(made, mark);
  const packed = gzipSync(page, { level: 9 });
  writeFileSync(join(folder, 'index.html'), page);
  writeFileSync(join(folder, 'index.html.gz'), packed);
  const first = [made.script, made.style, mark, ...made.shared];
  const words = made.words.map((each) => write(folder, each));
  const bytes = first.reduce((sum, each) => sum + write(folder, each), packed.length + Math.max(...words));
  if (bytes > MOST_BYTES)
    throw new Error(`the console is ${bytes} bytes on the wire; its budget is ${MOST_BYTES}`);
  for (const each of made.later) {
    const size = write(folder, each);
    if (size > MOST_LATER_BYTES)
      throw new Error(`${each.name} is ${size} bytes on the wire; its budget is ${MOST_LATER_BYTES}`);
  }
  return bytes;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = argv;
  if (folder === undefined) throw new Error('which folder?');
  await buildAssets(folder);
}
