/**
 * Builds what runs, below `src/` of a folder: a file for each entry, and files that they share. A start opens 400
 * files in place of 1,500, those of its threads counted each time.
 *
 *   node --import tsx scripts/bundle.ts FOLDER [TEST...]
 *
 * With tests, named from the root, those besides: a test that is built starts in a third of the time, threads too.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What is started by its path: programs, the threads' modules, and what applications import. */
const ENTRIES = [
  'src/main',
  'src/cli/pixstate',
  'src/client/pixstate',
  'src/console/server/thread',
  'src/reader/worker',
  'src/server/threads/worker',
  'src/webhooks/sender/worker',
];

/**
 * Packages that stay where npm put them: they load native files, threads or optional packages by themselves, and undici
 * is loaded where it is needed, by its path.
 */
const LEFT_ALONE = ['fs-native-extensions', 'lmdb', 'mongodb', 'pino', 'undici'];

/** Packages with `require` find what they ask of Node. */
const REQUIRE = `import { createRequire as createBundledRequire } from 'node:module';
const require = createBundledRequire(import.meta.url);`;

/**
 * What stands for `import.meta.url` in a module. One of ours keeps the address that it had in a folder of its own, by
 * which it finds threads and files; a test has that of its source, beside which its files lie.
 */
function addressOf(path: string): string {
  const name = relative(root, path);
  if (!name.startsWith('src/')) return JSON.stringify(pathToFileURL(path).href);
  const own = JSON.stringify(`/${name.replace(/\.ts$/, '.js')}`);
  return `import.meta.url.replace(/\\/(src|test)\\/(?!.*\\/(src|test)\\/).*$/, ${own})`;
}

const addresses: Plugin = {
  name: 'addresses',
  setup(bundle) {
    bundle.onLoad({ filter: /\/(src|test|scripts)\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      return { contents: text.replaceAll('import.meta.url', addressOf(path)), loader: 'ts' };
    });
  },
};

const [folder, ...tests] = argv.slice(2);
if (folder === undefined) throw new Error('usage: node --import tsx scripts/bundle.ts FOLDER [TEST...]');
const entries = [...ENTRIES, ...tests.map((test) => test.replace(/\.ts$/, ''))];
/** What tests use of npm's, and this package as its users import it, stays where it is. */
const { name, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const ofTests = tests.length === 0 ? [] : [name, ...Object.keys(devDependencies)];
await build({
  entryPoints: Object.fromEntries(entries.map((entry) => [entry, join(root, `${entry}.ts`)])),
  outdir: folder,
  chunkNames: 'src/shared/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: [...LEFT_ALONE, ...ofTests],
  banner: { js: REQUIRE },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  plugins: [addresses],
});
