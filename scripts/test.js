/**
 * Builds the test files and runs each in a process of its own, a few at a time, and prints `N passed, N failed` last.
 *
 *   node scripts/test.js [--long | --all] [--only PATTERN] [--but PATTERN] [--jobs N] [--coverage] [--mongodb] [--again]
 *
 * Without a word all but what takes long, with `--long` that alone, with `--all` or a pattern both.
 * With `--again` files that failed beside others run once more by themselves, and count by that: tests that kill
 * servers under load share two cores with each other.
 * Files that talk to a server in ways that its threads may change run twice: the second time, which counts as long, on
 * servers whose engine serves HTTP itself (`TEST_HTTP_THREADS=0`), as it does by itself where there is one core.
 * With `--mongodb` those that say something about MongoDB, on the server of `MONGODB_TEST_URI`; without it, all
 * that need none.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * What can run on MongoDB: the tests of its own, and those that talk to servers and commands, which work on whatever
 * store they are started with. Not here, of those that start servers too:
 * - `faults/quarantine`: rewrites records in LMDB's tables;
 * - `faults/disk`, `flush`, `frozen*`: full or broken disks and stopped writers of LMDB's own file;
 * - `faults/folder-holder`: who has a data folder; a database is any number's;
 * - `audit/verify`, `engine/several-processes`: open the embedded or the memory store themselves.
 * `machines/` walks the charts without any store; `mongodb/paths` walks the same paths through an engine on one.
 */
const CAN_ON_MONGODB = [
  /^test\/(mongodb|api|cli|ops|bank\/served)\//,
  /^test\/server\/processes\.test\.ts$/,
  /^test\/console\/(accounts|acts|cases|endpoints|guard|now|protests|retries|sessions)\.test\.ts$/,
  /^test\/faults\/(kill|kill-start|kill-command|receivers|connections|overload)\.test\.ts$/,
];
/** What is run there without being asked for: what goes through the store in ways of its own. */
const ON_MONGODB = [
  /^test\/(mongodb\/(?!mongod|tcp-proxy)|ops\/)/,
  /^test\/api\/(cashout|lifecycle|pix-in|refunds|statement)\.test\.ts$/,
  /^test\/cli\/(attention|commands|store)\.test\.ts$/,
  /^test\/console\/(acts|retries)\.test\.ts$/,
  /^test\/faults\/(kill|kill-start|kill-command)\.test\.ts$/,
];
const mongodb = process.argv.includes('--mongodb');
const again = process.argv.includes('--again');
let interrupted = false;

/** What runs on servers without an HTTP thread, too; on MongoDB the way through all doors is enough. */
const WITHOUT_A_THREAD = mongodb
  ? [/^test\/api\/lifecycle\.test\.ts$/]
  : [
      /^test\/api\/(auth|callbacks|edges|errors|exchanges|lifecycle|statement)\.test\.ts$/,
      /^test\/faults\/(connections|overload)\.test\.ts$/,
    ];

/**
 * What takes long: pages in a browser, servers with a bank over TLS, servers and commands that are killed, frozen or
 * flooded, a hundred thousand dead deliveries, and what earlier builds left; on MongoDB what does there as it does on
 * the embedded store.
 */
function isLong(path) {
  if (mongodb) return !ON_MONGODB.some((part) => part.test(path));
  return /\/browser\/|^test\/((bank\/served|examples|faults|older-builds)\/|migration\/interrupted|ops\/bad-day)/.test(
    path,
  );
}

/** Whether a file can run on the store of this run. */
function belongs(path) {
  return mongodb ? CAN_ON_MONGODB.some((part) => part.test(path)) : !path.startsWith('test/mongodb/');
}

/** Whether this run is of what takes so long. */
function isWanted({ takesLong }) {
  const isAll = ['--all', '--only'].some((each) => process.argv.includes(each));
  return isAll || takesLong === process.argv.includes('--long');
}

function option(name, otherwise) {
  const index = process.argv.indexOf(name);
  return index < 0 ? otherwise : process.argv[index + 1];
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}

function count(output, label) {
  const numbers = [...output.matchAll(new RegExp(`${label}:\\s+(\\d+)`, 'g'))].map((match) =>
    Number(match[1]),
  );
  return numbers.reduce((sum, number) => sum + number, 0);
}

const coverage = process.argv.includes('--coverage')
  ? mkdtempSync(join(tmpdir(), 'pixstate-coverage-'))
  : null;
const environment = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' };
if (!mongodb) delete environment.MONGODB_TEST_URI;
// Beside a database on two cores servers would have none: the ways through it are tested with one.
else environment.TEST_HTTP_THREADS ??= '1';
// The servers and commands that tests start inherit it, so what they run counts as well.
if (coverage !== null) environment.NODE_V8_COVERAGE = coverage;

/** Prints what of the sources the tests ran. */
function reportCoverage() {
  const c8 = join(root, 'node_modules', 'c8', 'bin', 'c8.js');
  const options = [
    '--temp-directory',
    coverage,
    // One process's at a time: all of them together are more than memory holds.
    '--merge-async',
    '--reporter',
    'text-summary',
    // What is built has packages in it, too: which file a line is of is known once it is mapped.
    '--exclude-after-remap',
    '--exclude',
    'node_modules/**',
    '--exclude',
    '.build/**',
    '--exclude',
    'test/**',
    '--exclude',
    'scripts/**',
    '--exclude',
    'examples/**',
  ];
  const { status } = spawnSync(process.execPath, [c8, 'report', ...options], { cwd: root, stdio: 'inherit' });
  if (status !== 0) console.log('the coverage could not be reported');
  rmSync(coverage, { recursive: true, force: true });
}

const running = new Set();

/** Where this run's tests are built. */
const built = join(root, '.build', `tests-${process.pid}`);

function builtFrom(file) {
  return join(built, relative(root, file).replace(/\.ts$/, '.js'));
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Builds tests, with what they are about. What runs that were killed have left there goes. */
function build(tests) {
  for (const name of readdirSync(dirname(built))) {
    const [, pid] = /^tests-(\d+)$/.exec(name) ?? [];
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid))))
      rmSync(join(dirname(built), name), { recursive: true, force: true });
  }
  mkdirSync(built);
  symlinkSync(join(root, 'dist', 'console'), join(built, 'console'));
  const bundle = ['--import', 'tsx', join(root, 'scripts', 'bundle.ts'), built];
  const names = tests.map((file) => relative(root, file));
  return (
    spawnSync(process.execPath, [...bundle, ...names], { cwd: root, stdio: ['ignore', 2, 2] }).status === 0
  );
}

/** Ends the tests that run, which end what they have started, and this process with the signal's code. */
function interrupt(signal) {
  interrupted = true;
  failed.length = 0;
  files.length = 0;
  process.exitCode = 128 + constants.signals[signal];
  for (const child of running) child.kill(signal);
}

/** What no file takes by far, even on a slow machine: one that hangs fails, and those behind it still run. */
const LONGEST_MS = 15 * 60_000;

function run({ file, isWithout }) {
  return new Promise((resolve) => {
    const started = Date.now();
    const env = isWithout ? { ...environment, TEST_HTTP_THREADS: '0' } : environment;
    // A file that skips what it should have run counts as failed: uvu itself would not say so.
    const child = spawn(process.execPath, ['--enable-source-maps', builtFrom(file)], { cwd: root, env });
    running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        output += text;
      });
    }
    let killing;
    const hanging = setTimeout(() => {
      output += `ended, since it ran for ${LONGEST_MS / 60_000} minutes\n`;
      child.kill('SIGTERM');
      // It ends what it has started, unless it can't any more.
      killing = setTimeout(() => child.kill('SIGKILL'), 10_000);
    }, LONGEST_MS);
    child.on('close', (code) => {
      clearTimeout(hanging);
      clearTimeout(killing);
      running.delete(child);
      const total = count(output, 'Total');
      const passed = count(output, 'Passed');
      const failed = Math.max(total - passed, code === 0 && total > 0 ? 0 : 1);
      const name = `${relative(root, file)}${isWithout ? ' without an HTTP thread' : ''}`;
      resolve({ file: name, passed, failed, output, seconds: (Date.now() - started) / 1000 });
    });
  });
}

const pattern = new RegExp(option('--only', '.'));
// No path has what this one asks for.
const but = new RegExp(option('--but', '^$'));
// The longest first, so that none of them is left over at the end.
const first = [
  'console/browser',
  'cli/',
  'api/edges',
  'api/webhooks',
  'api/sandbox',
  'kill',
  'folder-holder',
  'frozen',
  'api/',
];
const rank = (file) => {
  const index = first.findIndex((part) => file.includes(part));
  return index < 0 ? first.length : index;
};
const files = filesBelow(join(root, 'test'))
  .filter((file) => {
    const path = relative(root, file);
    return belongs(path) && pattern.test(path) && !but.test(path);
  })
  .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
  .flatMap((file) => {
    const path = relative(root, file);
    const once = { file, isWithout: false, takesLong: isLong(path) };
    const isTwice = WITHOUT_A_THREAD.some((part) => part.test(path));
    return isTwice ? [once, { file, isWithout: true, takesLong: true }] : [once];
  })
  .filter(isWanted);
/** Most tests wait for somebody most of the time; those that take long kill and flood, and bear fewer beside them. */
const jobs = Number(option('--jobs', process.argv.includes('--long') ? '3' : '4'));
const totals = { passed: 0, failed: 0 };

/** What failed beside others, where it is to be run again by itself. */
const failed = [];

function tell(result, word) {
  totals.passed += result.passed;
  totals.failed += result.failed;
  console.log(
    `${word} ${result.file} ${result.passed} passed, ${result.failed} failed, ${result.seconds.toFixed(1)} s`,
  );
  // What could not be tested here is told, though nothing of it failed.
  for (const line of result.output.match(/^.*\bNOT RUN\b.*$/gm) ?? []) console.log(`     ${line.trim()}`);
}

async function worker() {
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    const result = await run(file);
    if (result.failed === 0) {
      tell(result, 'ok  ');
      continue;
    }
    if (again && !interrupted) {
      failed.push(file);
      console.log(
        `AGAIN ${result.file}: ${result.failed} failed beside others; it runs by itself at the end`,
      );
    } else tell(result, 'FAIL');
    console.log(result.output);
  }
}

/** Those that failed, one at a time: what needs the machine for itself gets it, and what is wrong fails again. */
async function runFailedAgain() {
  for (const file of failed) {
    const result = await run(file);
    tell(result, result.failed === 0 ? 'ok, by itself:' : 'FAIL, by itself too:');
    if (result.failed > 0) console.log(result.output);
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, interrupt);
if (mongodb && !process.env.MONGODB_TEST_URI) {
  console.log('--mongodb needs a server: MONGODB_TEST_URI, or npm run test:mongodb, which starts one');
  files.length = 0;
  totals.failed += 1;
} else if (files.length === 0) {
  console.log('no test file matches');
  totals.failed += 1;
} else if (!build([...new Set(files.map(({ file }) => file))])) {
  console.log('the tests could not be built');
  files.length = 0;
  totals.failed += 1;
}
await Promise.all(Array.from({ length: jobs }, worker));
await runFailedAgain();
rmSync(built, { recursive: true, force: true });
if (coverage !== null) reportCoverage();
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode ??= totals.failed === 0 ? 0 : 1;
