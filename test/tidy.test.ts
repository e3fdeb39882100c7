/** The house's rules as a test: who may import whom, no cycles, and who may touch clock, chance, environment. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const test = suite('tidy');

interface Source {
  path: string;
  text: string;
  /** Files of the project that it imports. */
  imports: string[];
  packages: string[];
}

function sourcesBelow(folder: string): Source[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const text = readFileSync(file, 'utf8');
      const specifiers = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((match) => match[1] ?? '');
      const local = specifiers.filter((name) => name.startsWith('.'));
      return {
        path: relative(root, file),
        text,
        imports: local.map((name) => relative(root, join(dirname(file), name))),
        packages: specifiers.filter((name) => !name.startsWith('.') && !name.startsWith('node:')),
      };
    });
}

const sources = [...sourcesBelow('machines'), ...sourcesBelow('src')];
const byPath = new Map(sources.map((source) => [source.path, source]));

function room(path: string): string {
  const [top, next = ''] = path.split('/');
  return top === 'machines' ? 'machines' : next;
}

/** What all rooms may import, but the pure ones. */
const FOR_ALL = ['errors.ts', 'waiting.ts'];
const PURE = ['machines', 'domain'];

/** What each room may import besides itself. `main.ts` and the commands may import all. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  machines: ['domain'],
  domain: [],
  engine: ['domain', 'machines'],
  audit: ['domain', 'engine'],
  accounts: ['domain', 'engine'],
  store: ['domain', 'engine'],
  bank: ['domain', 'engine'],
  webhooks: ['domain', 'engine', 'accounts', 'machines'],
  jobs: ['engine', 'bank', 'webhooks'],
  api: ['domain', 'engine', 'accounts'],
  server: ['api', 'accounts', 'bank', 'engine', 'jobs', 'webhooks', 'core.ts', 'config.ts', 'clock.ts'],
  migration: ['domain', 'engine', 'audit'],
};

test('there is something to look at', () => {
  assert.ok(sources.length > 60, `${sources.length} files`);
});

test('a room imports only what it may', () => {
  const wrong: string[] = [];
  for (const { path, imports } of sources) {
    const own = MAY_IMPORT[room(path)];
    if (own === undefined) continue;
    const allowed = PURE.includes(room(path)) ? own : [...own, ...FOR_ALL];
    for (const target of imports) {
      if (room(target) !== room(path) && !allowed.includes(room(target))) wrong.push(`${path} -> ${target}`);
    }
  }
  assert.equal(wrong, []);
});

test('the store has one place that knows its adapters', () => {
  const wrong: string[] = [];
  for (const { path, imports } of sources) {
    if (path === 'src/store/open.ts') continue;
    for (const target of imports) {
      const [adapter] = /^src\/store\/(lmdb|mongo)\//.exec(target) ?? [];
      if (adapter !== undefined && !path.startsWith(adapter)) wrong.push(`${path} -> ${target}`);
    }
  }
  assert.equal(wrong, []);
});

test('the engine knows no adapter, no Koa, no driver', () => {
  const packages = sources
    .filter(({ path }) => path.startsWith('src/engine/'))
    .flatMap((source) => source.packages);
  assert.equal([...new Set(packages)], ['xstate']);
});

test('no file imports itself, over whatever way', () => {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) {
      cycles.push([...way.slice(way.indexOf(path)), path].join(' -> '));
      return;
    }
    if (done.has(path)) return;
    for (const target of byPath.get(path)?.imports ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const { path } of sources) visit(path, []);
  assert.equal(cycles, []);
});

test('clock, chance, environment and console have their owners', () => {
  const owners: [RegExp, RegExp][] = [
    [/\bDate\.now\(|new Date\(\)/, /^src\/(clock|webhooks\/sender\/worker)\.ts$/],
    [
      /\bMath\.random\(|\brandomUUID\(|\brandomBytes\(/,
      /^src\/(clock|server\/(listening|http)|accounts\/(credentials|sealing|secrets-key)|jobs\/agenda-clock|webhooks\/(sender\/)?[\w-]+|cli\/[\w-]+)\.ts$/,
    ],
    [/\bprocess\.env\b/, /^src\/(config|cli\/demo)\.ts$/],
    [/\bconsole\./, /^src\/cli\//],
    [/\bprocess\.exit\(/, /^src\/(main|cli\/[\w-]+)\.ts$/],
  ];
  const wrong: string[] = [];
  for (const { path, text } of sources) {
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    for (const [use, owner] of owners)
      if (use.test(code) && !owner.test(path)) wrong.push(`${path}: ${use.source}`);
  }
  assert.equal(wrong, []);
});

test('no file is a barrel, but the catalogue of machines', () => {
  const barrels = sources
    .filter(({ text }) => /^export (\*|\{[^}]*\}) from/m.test(text))
    .map(({ path }) => path);
  assert.equal(barrels, []);
});

test('no file is longer than 300 lines', () => {
  const long = sources.filter(({ text }) => text.split('\n').length > 301).map(({ path }) => path);
  assert.equal(long, []);
});

/** Files of a folder, by the folder's path; below `test/` and `scripts/` too. */
const folders = new Map<string, string[]>();
for (const top of ['machines', 'src', 'test', 'scripts']) {
  for (const entry of readdirSync(join(root, top), { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const folder = relative(root, entry.parentPath);
    folders.set(folder, [...(folders.get(folder) ?? []), entry.name]);
  }
}

test('no folder of the sources holds more than 17 files', () => {
  const full = [...folders].filter(([folder, names]) => folder.startsWith('src') && names.length > 17);
  assert.equal(
    full.map(([folder, names]) => `${folder}: ${names.length}`),
    [],
  );
});

test('no file bears the name of its folder as a prefix', () => {
  const wrong = [...folders].flatMap(([folder, names]) =>
    names.filter((name) => name.startsWith(`${basename(folder)}-`)).map((name) => `${folder}/${name}`),
  );
  assert.equal(wrong, []);
});

test('a test lies where one looks for its room', () => {
  const rooms = new Set([...sources.map(({ path }) => room(path)), 'machines']);
  /** What is no room: bad days, pages, kept stores of older builds, what needs a MongoDB server, what tests share. */
  const others = ['docs', 'faults', 'mongodb', 'older-builds', 'support'];
  const homeless = [...folders.keys()]
    .filter((folder) => folder.startsWith('test/'))
    .map((folder) => folder.split('/')[1] ?? '')
    .filter((name) => !rooms.has(name) && !others.includes(name));
  assert.equal([...new Set(homeless)], []);
});

test('a door reads journals, and reaches no other role of the store', () => {
  const allowed = ['JournalReads', 'LookupName', 'StoreUnavailable'];
  const wrong = sources
    .filter(({ path }) => path.startsWith('src/api/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/import (?:type )?\{([^}]*)\} from '\.\.\/engine\/store\.ts'/g)].flatMap(
        ([, names = '']) =>
          names
            .split(',')
            .map((name) => name.replace('type ', '').trim())
            .filter((name) => name !== '' && !allowed.includes(name))
            .map((name) => `${path}: ${name}`),
      ),
    );
  assert.equal(wrong, []);
});

test.run();
