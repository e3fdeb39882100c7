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
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const text = readFileSync(file, 'utf8');
      const specifiers = [...text.matchAll(/(?:\sfrom\s|import\()\s*'([^']+)'/g)].map(
        (match) => match[1] ?? '',
      );
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
const examples = sourcesBelow('examples');
const byPath = new Map([...sources, ...examples].map((source) => [source.path, source]));

function room(path: string): string {
  const [top, next = ''] = path.split('/');
  return top === 'machines' ? 'machines' : next;
}

/** What all rooms may import, but the pure ones. */
const FOR_ALL = [
  'connections.ts',
  'errors.ts',
  'passing.ts',
  'spare-time.ts',
  'waiting.ts',
  'worker-entry.ts',
];
/** Rooms that import nothing but what is named below; the client runs in merchants' applications. */
const PURE = ['machines', 'domain', 'client'];

/** What each room may import besides itself. `main.ts` and the commands may import all. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  machines: ['domain'],
  domain: [],
  client: [],
  engine: ['domain', 'machines'],
  audit: ['domain', 'engine'],
  accounts: ['domain', 'engine'],
  store: ['domain', 'engine'],
  holder: ['store'],
  reader: ['audit', 'engine', 'store', 'clock.ts'],
  bank: ['domain', 'engine'],
  webhooks: ['domain', 'engine', 'accounts', 'machines'],
  jobs: ['engine', 'bank', 'webhooks'],
  ops: ['domain', 'engine', 'accounts', 'webhooks'],
  api: ['domain', 'engine', 'accounts'],
  // Its thread listens and logs as the server does, and it ends with it; operators act by the doors of ops.
  console: ['accounts', 'api', 'audit', 'domain', 'engine', 'ops', 'server', 'store', 'clock.ts'],
  server: [
    ...['api', 'accounts', 'bank', 'console', 'engine', 'holder', 'jobs', 'store', 'webhooks'],
    ...['core.ts', 'config.ts', 'clock.ts', 'version.ts'],
  ],
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

/** What both sides tell: one text for each code, in one place. */
const SENTENCES = 'src/domain/sentences/';

test('what runs in browsers knows of the server only the shapes of its answers, and sentences by code', () => {
  const wrong = sources
    .filter(({ path }) => path.startsWith('src/console/ui/'))
    .flatMap(({ path, text, imports, packages }) => [
      ...imports
        .filter((target) => !target.startsWith(SENTENCES))
        .filter((target) => !/^src\/console\/(ui\/|(api-)?shapes\.ts$|shapes\/)/.test(target))
        .map((target) => `${path} -> ${target}`),
      ...packages
        .filter((name) => !/^(preact(\/hooks)?|pixstate:charts)$/.test(name))
        .map((name) => `${path} -> ${name}`),
      ...(/'node:|dangerouslySetInnerHTML|innerHTML|\sstyle=/.test(text)
        ? [`${path}: what a page may not`]
        : []),
    ]);
  assert.equal(wrong, []);
  const others = sources.filter(({ path }) => !path.startsWith('src/console/ui/'));
  const users = others.filter(({ imports }) =>
    imports.some((target) => target.startsWith('src/console/ui/')),
  );
  assert.equal(
    users.map(({ path }) => path),
    [],
  );
});

test('the engine knows no adapter, no Koa, no driver', () => {
  const packages = sources
    .filter(({ path }) => path.startsWith('src/engine/'))
    .flatMap((source) => source.packages);
  assert.equal([...new Set(packages)], ['xstate']);
});

/** The packages that are loaded as soon as a file is, over whatever way: not those of types, nor what is imported later. */
function loadedWith(entry: string): string[] {
  const packages = new Set<string>();
  const visited = new Set<string>();
  const visit = (path: string): void => {
    if (visited.has(path)) return;
    visited.add(path);
    const text = byPath.get(path)?.text ?? '';
    for (const [, name = ''] of text.matchAll(/^(?:import|export) (?!type )(?:[^;']*? from )?'([^']+)';/gm))
      if (name.startsWith('.')) visit(join(dirname(path), name));
      else if (!name.startsWith('node:')) packages.add(name);
  };
  visit(entry);
  return [...packages];
}

test('a server loads in its own thread and its sender’s neither what serves HTTP nor what few need', () => {
  const elsewhere = loadedWith('src/server/threads/worker.ts');
  for (const name of ['koa', 'raw-body', '@koa/router', 'zod']) assert.ok(elsewhere.includes(name), name);
  const heavy =
    /^(koa|koa-body|raw-body|@koa\/.*|zod|@asteasolutions\/.*|undici|libphonenumber-js\/.*|mongodb|@agendajs\/.*|qrcode)$/;
  for (const entry of ['src/main.ts', 'src/webhooks/sender/worker.ts'])
    assert.equal(
      loadedWith(entry).filter((name) => heavy.test(name)),
      [],
      entry,
    );
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
  for (const path of byPath.keys()) visit(path, []);
  assert.equal(cycles, []);
});

test('clock, chance, environment and console have their owners', () => {
  const owners: [RegExp, RegExp][] = [
    [
      /\bDate\.now\(|new Date\(\)/,
      /^src\/(clock|client\/answers|webhooks\/sender\/worker|console\/ui\/state\/clock)\.ts$/,
    ],
    [
      /\bMath\.random\(|\brandomUUID\(|\brandomBytes\(/,
      /^src\/(clock|client\/connection|server\/http|accounts\/(credentials|sealing|secrets-key)|jobs\/agenda-clock|webhooks\/(sender\/)?[\w-]+|cli\/[\w-]+|console\/(passes|ui\/acts\/id))\.ts$/,
    ],
    [/\bprocess\.env\b/, /^src\/(config|cli\/demo\/demo)\.ts$/],
    [/\bconsole\./, /^src\/cli\//],
    [/\bprocess\.exit\(/, /^src\/(main|cli\/(running\/)?[\w-]+)\.ts$/],
  ];
  const wrong: string[] = [];
  for (const { path, text } of sources) {
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    for (const [use, owner] of owners)
      if (use.test(code) && !owner.test(path)) wrong.push(`${path}: ${use.source}`);
  }
  assert.equal(wrong, []);
});

test('an example knows the package as merchants do: by the name of its client', () => {
  assert.ok(examples.length > 0);
  const wrong = examples.flatMap(({ path, imports, packages }) => [
    ...imports.filter((target) => !target.startsWith('examples/')).map((target) => `${path} -> ${target}`),
    ...packages.filter((name) => /^pixstate(?!\/client$)/.test(name)).map((name) => `${path} -> ${name}`),
  ]);
  assert.equal(wrong, []);
});

test('no file is a barrel, but the catalogue of machines', () => {
  const barrels = sources
    .filter(({ text }) => /^export (\*|\{[^}]*\}) from/m.test(text))
    .map(({ path }) => path);
  assert.equal(barrels, []);
});

/** What a generator makes is as long as the document that it is made from. */
const GENERATED = ['src/client/types.ts'];

test('no file is longer than 300 lines', () => {
  const written = [...sources, ...examples].filter(({ path }) => !GENERATED.includes(path));
  const long = written.filter(({ text }) => text.split('\n').length > 301).map(({ path }) => path);
  assert.equal(long, []);
});

/** Files of a folder, by the folder's path; below `test/` and `scripts/` too. */
const folders = new Map<string, string[]>();
for (const top of ['machines', 'src', 'test', 'scripts', 'examples']) {
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
  const others = ['docs', 'examples', 'faults', 'mongodb', 'older-builds', 'support'];
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
