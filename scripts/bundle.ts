/**
 * Builds what runs, below `src/` of a folder: a file for each entry, and files that they share. A start opens 400
 * files in place of 1,500, those of its threads counted each time.
 *
 *   node --import tsx scripts/bundle.ts FOLDER
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
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

/** Each of our modules keeps the address that it had in a folder of its own, by which it finds threads and files. */
const addresses: Plugin = {
  name: 'addresses',
  setup(bundle) {
    bundle.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const own = JSON.stringify(`/${relative(root, path).replace(/\.ts$/, '.js')}`);
      const address = `import.meta.url.replace(/\\/src\\/(?!.*\\/src\\/).*$/, ${own})`;
      return { contents: text.replaceAll('import.meta.url', address), loader: 'ts' };
    });
  },
};

const [folder] = argv.slice(2);
if (folder === undefined) throw new Error('usage: node --import tsx scripts/bundle.ts FOLDER');
await build({
  entryPoints: Object.fromEntries(ENTRIES.map((entry) => [entry, join(root, `${entry}.ts`)])),
  outdir: folder,
  chunkNames: 'src/shared/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: LEFT_ALONE,
  banner: { js: REQUIRE },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  plugins: [addresses],
});
