/** Charges in every state, on every way that leads there. */
import { charge, newEndToEndId, reaches, told } from '../../test/support/flows.ts';
import type { Json, JsonObject } from '../../test/support/json.ts';
import type { KeptMessage } from '../../test/support/older-build.ts';
import { bankMessage, paymentData, type Stage, tellAsBank, tellStory } from './stage.ts';

/** The sandbox's scenarios by the amount's last two digits, and where they end. */
const SCENARIOS = [
  ['paid', 'paid'],
  ['refused', 'refused'],
  ['failed', 'failed'],
  ['canceled', 'canceled'],
  ['held, then approved', 'paid'],
  ['held, then refused', 'refused'],
  ['refunded', 'refunded'],
  ['charged back', 'chargedback'],
  ['protest dismissed', 'paid'],
  ['paid twice', 'paid'],
] as const;

/** The farthest expiry there is: 30 days. */
const FAR_S = 2_592_000;

/** Texts and names that one way of storing or another might change. */
export const ODD_METADATA: JsonObject = {
  constructor: true,
  $ref: 'no reference',
  $date: '2020-01-01T00:00:00.000Z',
  'a.b.c': -0.5,
  '10': 'ten',
  '9': 'nine',
  at: '2020-01-01T00:00:00.000Z',
  'ключ 🗝': 'значение \u200d\u2028',
  largest: Number.MAX_SAFE_INTEGER,
  beyond: 1e300,
};

/** What a bank may say beside what is known: it is kept as it came. */
const ODD_DATA: JsonObject = {
  ['__proto__']: { polluted: true },
  $ref: 'transactions',
  $id: 'of nothing',
  'a.b': [null, -0, 1.5, 2 ** 40, { '': 'an empty name' }],
  'zero\u0000byte': 'lone \ud800 surrogate',
  paidOut: '2020-02-30T00:00:00.000Z',
};

/** Four bytes each: the longest that there is. */
const LONG_REF = '🦊'.repeat(255);

const PAYER: JsonObject = {
  name: 'José da Conceição Ñandú',
  document: { type: 'CPF', number: '12345678909' },
  bank: { ispb: '00000000', name: 'Banco Fictício' },
};

async function playScenarios(stage: Stage): Promise<void> {
  const shop = stage.cast.of('shop');
  await Promise.all(
    SCENARIOS.map(async ([story, status], index) => {
      const more = { externalRef: `pedido nº ${index + 1}`, metadata: { scenario: index + 1 } };
      const id = tellStory(stage, 'shop', `charge ${story}`, await charge(shop, 10_001 + index, more));
      await reaches(shop, 'pix-in', id, status);
    }),
  );
}

async function waiting(stage: Stage, story: string, more: JsonObject = {}): Promise<string> {
  const created = await charge(stage.cast.of('shop'), 25_000, { expiresIn: FAR_S, ...more });
  return tellStory(stage, 'shop', story, created);
}

/** Charges that wait: with the longest texts, with payments that can't be credited, one to be paid later. */
async function playWaiting(stage: Stage): Promise<void> {
  const customer = {
    name: 'Maria Antônia d’Ávila',
    document: { type: 'CPF', number: '12345678909' },
    email: 'maria@exemplo.com.br',
    phone: '+5511999999999',
  };
  await waiting(stage, 'charge waiting, of the same long reference', { externalRef: LONG_REF });
  await waiting(stage, 'charge waiting, with all its fields', {
    ...{ externalRef: LONG_REF, customer, metadata: ODD_METADATA },
    ...{ description: 'Pães de açúcar', additionalInfo: 'balcão 3', paymentMethod: 'PIX' },
  });
  const id = await waiting(stage, 'charge waiting, its payment of another amount given back');
  await tellAsBank(stage, [
    { ...bankMessage(id, 'PAY', paymentData(newEndToEndId(), 24_999)), result: 'refused' },
    { ...bankMessage(id, 'REFUND', { reason: 'não há o que devolver' }), result: 'refused' },
    { ...bankMessage(id, 'PAY', { amount: 'much', endToEndId: 'E1' }), result: 'invalid' },
    { ...bankMessage(id, 'CANCEL', 'no object'), result: 'invalid' },
    { ...bankMessage('00000000-0000-4000-8000-000000000000', 'PAY', ODD_DATA), result: 'unknown' },
  ]);
}

/** A charge that the bank's messages have paid; the message. */
async function paid(stage: Stage, story: string, extra: { [part: string]: Json } = {}): Promise<KeptMessage> {
  const id = await waiting(stage, story);
  const data = { ...paymentData(newEndToEndId(), 25_000), ...extra };
  const message = bankMessage(id, 'PAY', data);
  await tellAsBank(stage, [{ ...message, result: 'applied' }]);
  return message;
}

async function playAnalysis(stage: Stage): Promise<void> {
  const id = await waiting(stage, 'charge in analysis');
  const data = { ...paymentData(newEndToEndId(), 25_000), payer: PAYER };
  await tellAsBank(stage, [{ ...bankMessage(id, 'HOLD', data), result: 'applied' }]);
}

/** Protests are decided by later builds; one was told by ops. */
async function playProtests(stage: Stage): Promise<void> {
  const first = await paid(stage, 'charge in protest, told by the sandbox', { payer: PAYER });
  await told(stage.cast.of('shop'), first.transactionId, 'PROTEST', { reason: 'não reconheço' });
  const second = await paid(stage, 'charge in protest, told by ops');
  const reason = JSON.stringify({ reason: 'MED 🕵' });
  await stage.command(['send', second.transactionId, 'PROTEST', '--data', reason]);
}

async function playExpired(stage: Stage): Promise<void> {
  const quick = stage.cast.of('quick');
  const id = tellStory(stage, 'quick', 'charge expired, paid too late', await charge(quick, 4_200));
  await reaches(quick, 'pix-in', id, 'expired');
  const late = bankMessage(id, 'PAY', paymentData(newEndToEndId(), 4_200));
  await tellAsBank(stage, [{ ...late, result: 'refused' }]);
}

/** All charges that come to rest; a message that was applied. */
export async function playCharges(stage: Stage): Promise<KeptMessage> {
  await playScenarios(stage);
  await playWaiting(stage);
  await playAnalysis(stage);
  await playProtests(stage);
  await playExpired(stage);
  const message = await paid(stage, 'charge paid, with all that a bank may say', ODD_DATA);
  const { transactionId } = message;
  await tellAsBank(stage, [
    { ...message, result: 'duplicate' },
    { ...message, data: paymentData(newEndToEndId(), 25_000), result: 'refused' },
    { ...bankMessage(transactionId, 'REFUND', { amount: 1 }), result: 'refused' },
  ]);
  const large = tellStory(
    stage,
    'shop',
    'charge of a large amount',
    await charge(stage.cast.of('shop'), 5e9),
  );
  await told(stage.cast.of('shop'), large, 'PAY', { payer: PAYER });
  return message;
}
