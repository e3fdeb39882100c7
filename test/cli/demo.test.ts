/** `pixstate demo` to its end, and ended before. */
import { readdir, rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endWithin, spawnNode, spawnProgram, temporaryFolder } from '../support/process.ts';
import { until } from '../support/wait.ts';

const test = suite('cli/demo');
const entry = ['dist/src/cli/pixstate.js', 'demo'];

test('demo shows it all in seconds and exits with 0', async () => {
  const outcome = await endWithin(spawnNode(entry, {}), 60_000);
  assert.is(outcome.code, 0, `${outcome.stdout}${outcome.stderr}`);
  for (const shownWord of ['pix-in.paid', 'cashout.completed', 'refund.pending', 'The statement']) {
    assert.ok(outcome.stdout.includes(shownWord), `no ${shownWord} in the demo`);
  }
});

test('a signal ends the demo, and nothing of it is left', async () => {
  const TMPDIR = await temporaryFolder();
  // As the terminal leads a group of processes, all of which Ctrl+C goes to.
  const start = () => spawnProgram('setsid', [process.execPath, ...entry], { TMPDIR });
  const hasFolder = async () => (await readdir(TMPDIR)).length > 0;
  const cases = [
    { signal: 'SIGTERM', status: 143, toAll: false, told: null },
    { signal: 'SIGHUP', status: 129, toAll: false, told: 'server http' },
    { signal: 'SIGINT', status: 130, toAll: true, told: 'webhook pix-in.paid' },
  ] as const;
  try {
    for (const { signal, status, toAll, told } of cases) {
      const demo = start();
      await until(() => (told === null ? hasFolder() : demo.stdout().includes(told)), 20_000, signal);
      process.kill(toAll ? -demo.pid : demo.pid, signal);
      // Its server has the same stderr, so that this waits for that one's end, too.
      const outcome = await endWithin(demo, 10_000);
      assert.is(outcome.code, status, `${signal}: ${outcome.stdout}${outcome.stderr}`);
      assert.is(outcome.stderr, '', signal);
      assert.equal(await readdir(TMPDIR), [], signal);
    }
  } finally {
    await rm(TMPDIR, { recursive: true, force: true });
  }
});

test.run();
