/** What isn't known of a bank has no figure: zero would read as "just now". */
import { Registry } from 'prom-client';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBankMetrics } from '../../src/server/bank-metrics.ts';

const test = suite("a bank's metrics");

test('an age that is not known has no sample, before it was known and after', async () => {
  const registry = new Registry();
  let age: number | null = null;
  addBankMetrics(registry, {
    isBreakerOpen: () => false,
    tokenAge: () => age,
    certificateLeft: () => 3_600,
    reconciledAge: async () => age,
    onCall: () => undefined,
  });
  const samples = async (): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => /^pixstate_bank_(token|reconciled)/.test(line));
  assert.equal(await samples(), []);
  age = 12;
  const known = ['pixstate_bank_token_age_seconds 12', 'pixstate_bank_reconciled_age_seconds 12'];
  assert.equal(await samples(), known);
  age = null;
  assert.equal(await samples(), []);
});

test.run();
