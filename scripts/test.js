/**
 * Runs the test files, each in a process of its own, a few at a time, and prints `N passed, N failed` last.
 *
 *   node scripts/test.js [--only PATTERN] [--jobs N] [--coverage]
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

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
// The servers and commands that tests start inherit it, so what they run counts as well.
if (coverage !== null) environment.NODE_V8_COVERAGE = coverage;

/** Prints what of the sources the tests ran. */
function reportCoverage() {
  const c8 = join(root, 'node_modules', 'c8', 'bin', 'c8.js');
  const options = [
    '--temp-directory',
    coverage,
    '--reporter',
    'text-summary',
    '--exclude',
    'test/**',
    '--exclude',
    'scripts/**',
  ];
  spawnSync(process.execPath, [c8, 'report', ...options], { cwd: root, stdio: 'inherit' });
  rmSync(coverage, { recursive: true, force: true });
}

function run(file) {
  return new Promise((resolve) => {
    const started = Date.now();
    // A file that skips what it should have run counts as failed: uvu itself would not say so.
    const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd: root, env: environment });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        output += text;
      });
    }
    child.on('close', (code) => {
      const total = count(output, 'Total');
      const passed = count(output, 'Passed');
      const failed = Math.max(total - passed, code === 0 && total > 0 ? 0 : 1);
      resolve({ file: relative(root, file), passed, failed, output, seconds: (Date.now() - started) / 1000 });
    });
  });
}

const pattern = new RegExp(option('--only', '.'));
// The longest first, so that none of them is left over at the end.
const first = ['api/webhooks', 'api/cli', 'api/sandbox', 'kill', 'simulation', 'api/'];
const rank = (file) => {
  const index = first.findIndex((part) => file.includes(part));
  return index < 0 ? first.length : index;
};
const files = filesBelow(join(root, 'test'))
  .filter((file) => pattern.test(relative(root, file)))
  .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
const jobs = Number(option('--jobs', '3'));
const totals = { passed: 0, failed: 0 };

async function worker() {
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    const result = await run(file);
    totals.passed += result.passed;
    totals.failed += result.failed;
    console.log(
      `${result.failed === 0 ? 'ok  ' : 'FAIL'} ${result.file} ${result.passed} passed, ${result.failed} failed, ${result.seconds.toFixed(1)} s`,
    );
    if (result.failed > 0) console.log(result.output);
  }
}

if (files.length === 0) {
  console.log('no test file matches');
  totals.failed += 1;
}
await Promise.all(Array.from({ length: jobs }, worker));
if (coverage !== null) reportCoverage();
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed === 0 ? 0 : 1;
