/** Cashouts in every state, with balances below zero and corrected ones. */
import { charge, newEndToEndId, reaches, told, transfer } from '../../test/support/flows.ts';
import { ODD_METADATA } from './charges.ts';
import { bankMessage, type Stage, tellAsBank, tellStory } from './stage.ts';

/** The sandbox's scenarios by the amount's last two digits, and where they end. */
const SCENARIOS = [
  ['completed', 'completed'],
  ['rejected', 'rejected'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['told twice', 'completed'],
  ['processing, then silence', 'processing'],
  ['pending, then silence', 'pending'],
  ['settled before its start', 'completed'],
] as const;

/** Four bytes each: the longest that there is. */
const LONG_KEY = '𝄞'.repeat(255);

async function playScenarios(stage: Stage): Promise<void> {
  const shop = stage.cast.of('shop');
  await Promise.all(
    SCENARIOS.map(async ([story, status], index) => {
      const more = { idempotencyKey: `chave ${index + 1}`, metadata: { scenario: index + 1 } };
      const id = tellStory(stage, 'shop', `cashout ${story}`, await transfer(shop, 2_001 + index, more));
      await reaches(shop, 'cashout', id, status);
    }),
  );
}

/** A failure that came before its start and without an end-to-end id, which the late start brings. */
async function playImpliedStart(stage: Stage): Promise<void> {
  const created = await transfer(stage.cast.of('shop'), 2_107);
  const id = tellStory(stage, 'shop', 'cashout failed, its start told late', created);
  await tellAsBank(stage, [
    { ...bankMessage(id, 'FAIL', { reason: 'conta encerrada' }), result: 'applied' },
    { ...bankMessage(id, 'START', { endToEndId: newEndToEndId() }), result: 'duplicate' },
  ]);
}

/** The bank has paid what was given back: an alarm. */
async function playAlarm(stage: Stage): Promise<void> {
  const created = await transfer(stage.cast.of('shop'), 2_207, {
    ...{ idempotencyKey: LONG_KEY, externalRef: 'repasse é º', metadata: ODD_METADATA },
    description: 'transferência',
  });
  const id = tellStory(stage, 'shop', 'cashout cancelled, then settled: an alarm', created);
  await stage.command(['send', id, 'CANCEL', '--id', 'ops 1']);
  const data = { endToEndId: newEndToEndId(), paidAt: new Date().toISOString() };
  await tellAsBank(stage, [{ ...bankMessage(id, 'SETTLE', data), result: 'refused' }]);
}

/** A merchant who has spent what is charged back; corrections by ops. */
async function playBalances(stage: Stage): Promise<void> {
  const { accountId, ...client } = stage.cast.of('overdrawn');
  const id = tellStory(stage, 'overdrawn', 'charge charged back after it was spent', await charge(client));
  await told(client, id, 'PAY');
  const spent = await transfer(client, 12_001);
  await reaches(
    client,
    'cashout',
    tellStory(stage, 'overdrawn', 'cashout that spent it', spent),
    'completed',
  );
  await told(client, id, 'CHARGEBACK');
  const adjust = (cents: string, ...more: string[]) =>
    stage.command(['account', 'adjust', accountId, cents, '--reason', 'correção', ...more]);
  await adjust('150', '--id', 'correction 1');
  await adjust('150', '--id', 'correction 1');
  await adjust('-999999', '--id', 'correção 2', '--allow-negative');
}

/** All cashouts that come to rest. */
export async function playTransfers(stage: Stage): Promise<void> {
  await playScenarios(stage);
  await playImpliedStart(stage);
  await playAlarm(stage);
  await playBalances(stage);
}
