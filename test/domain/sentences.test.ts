/** What ops read of items and refusals: in both languages, each sentence with all that it is about. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { items as enItems } from '../../src/domain/sentences/en/items.ts';
import { refusals as enRefusals } from '../../src/domain/sentences/en/refusals.ts';
import type { Facts, ItemCode, ItemData, ReturnBooking } from '../../src/domain/sentences/item-codes.ts';
import { itemIn, itemSentences } from '../../src/domain/sentences/items.ts';
import { items as ptItems } from '../../src/domain/sentences/pt/items.ts';
import { refusals as ptRefusals } from '../../src/domain/sentences/pt/refusals.ts';
import { reais } from '../../src/domain/sentences/pt/words.ts';
import type { RefusalCode, RefusalData } from '../../src/domain/sentences/refusal-codes.ts';
import { refusalIn, refusalText } from '../../src/domain/sentences/refusals.ts';

const s = suite('sentences');

const ABOUT = { account: 'acc_1', transaction: 'tx-1', delivery: 'dlv_1', url: 'https://shop.example/hook' };
const SINCE = '2026-11-23T10:00:00.000Z';
const REFUSALS: { [Code in RefusalCode]: RefusalData[Code] } = {
  ID_REUSED: {},
  MESSAGE_NOT_ACCEPTED: { type: 'pix-in', state: 'expired', message: 'PAY' },
  PAID_TWICE: { state: 'failed' },
  BANK_ALONE: { message: 'CANCEL' },
  PARTIAL_UNSUPPORTED: { amount: 5, whole: 10 },
  MORE_THAN_STANDS: { type: 'cashout', amount: 5, left: 3 },
  REFUND_ENDED: { refundId: 'r-1', status: 'completed' },
  REFUNDED_TWICE: { refundId: 'r-1' },
  RETURN_DIFFERS: { returnId: 'D1' },
  RETURN_COUNTED: { refundId: 'r-1', returnId: 'D1', status: 'pending' },
  PAYMENT_ELSEWHERE: { transaction: 'tx-2' },
  PAYMENT_IN_ANALYSIS: {},
  ALREADY_RETURNED: {},
  AMOUNT_DIFFERS: { amount: 5, whole: 10 },
  NOT_WAITING: { state: 'canceled' },
  INVALID_DATA: { problem: 'data.amount is wrong' },
};

const reason = 'a pix-in that is expired does not take PAY';
const notTaken = { refusal: 'MESSAGE_NOT_ACCEPTED', details: REFUSALS.MESSAGE_NOT_ACCEPTED, reason };
const message = { type: 'pix-in', message: 'PAY', messageId: 'm-1', ...notTaken } as const;
const stray = { transactionId: 'tx-9', message: 'PAY', messageId: 'm-1', content: '{"amount":5}' };
const state = { type: 'cashout', state: 'processing', bank: 'EM_PROCESSAMENTO' } as const;
const call = { call: 'charge', message: 'the bank answers 401' };
const ITEMS: { [Code in ItemCode]: ItemData[Code] } = {
  MESSAGE_REFUSED: message,
  MESSAGE_INVALID: message,
  MESSAGE_UNDECIDED: { ...stray, reason: 'broken' },
  TRANSACTION_UNKNOWN: stray,
  REFUSALS_UNRECORDED: { type: 'cashout', recorded: 1_000 },
  PAYMENT_GIVEN_BACK: { ...notTaken, endToEndId: 'E1', amount: 1_234_567 },
  RETURN_FAILED: { endToEndId: 'E1', why: 'no balance' },
  RETURN_STUCK: { endToEndId: 'E1', bank: null },
  REFUNDED_TOO_MUCH: { refundId: 'r-1', standing: 7 },
  REFUND_STUCK: { refundId: 'r-1', bank: 'EM_PROCESSAMENTO' },
  TRANSFER_STUCK: state,
  ANALYSIS_STUCK: { type: 'pix-in', state: 'in_analysis', bank: null },
  EXPIRY_STUCK: { why: 'the bank answers 401' },
  SNAPSHOT_UNREADABLE: { reason: 'no version 9' },
  CLOCK_BEHIND: { entryAt: '2026-11-23T12:00:00.000Z', clock: SINCE },
  BATCH_UNPROJECTABLE: { seq: 12, reason: 'broken' },
  BATCH_BROKEN: { seq: 12, fault: 'chain' },
  LOG_UNREADABLE: { row: 7, reason: 'broken' },
  DELIVERY_DEAD: { event: 'pix-in.paid', error: null, status: 503 },
  DELIVERIES_REJECTED: { day: '2026-11-23', count: 3, event: 'pix-in.paid', status: 410 },
  URL_HANGS: { waiting: 1_000 },
  BANK_CREDENTIALS: call,
  BANK_SCOPE: call,
  BANK_CERTIFICATE: call,
  BANK_PATH: call,
  BANK_KEY: { key: '***1234', message: 'the bank answers 401' },
  BANK_WEBHOOK: { url: 'https://shop.example/bank', message: 'the bank answers 401' },
  BANK_LIMIT: { call: 'PUT cob', minutes: 10 },
  BANK_AWAY: call,
  BANK_LISTS: { since: SINCE, message: 'the bank answers 401' },
  BANK_CERTIFICATE_EARLY: { at: SINCE },
  BANK_CERTIFICATE_EXPIRED: { at: SINCE },
  CHARGE_PAYMENT_UNREADABLE: { endToEndId: null, unread: 'no amount' },
  CHARGE_UNKNOWN: { txid: 'tx1' },
  PAYMENT_UNEXPLAINED: { endToEndId: 'E1', txid: 'tx1', paidAt: SINCE },
  PAYMENT_UNREADABLE: { endToEndId: 'E1', txid: null, unread: 'no amount' },
  TRANSFER_UNEXPLAINED: { listed: 'E1' },
  TRANSFER_UNREADABLE: { listed: 'E1' },
  TRANSFERS_UNREADABLE: { count: 2 },
  AMOUNT_BOOKED_DIFFERS: { type: 'pix-in', listed: 5, booked: 10 },
  RETURN_AMOUNT_DIFFERS: { type: 'pix-in', returnId: 'D1', listed: 5, booked: 10 },
  RETURN_UNLISTED: { type: 'cashout', returnId: 'D1' },
  RETURN_UNBOOKED: {
    ...{ type: 'pix-in', returnId: 'r1', nature: 'NEW', amount: 1_000 },
    booking: { returnId: 'D1' },
  },
  LISTING_UNBOOKED: { type: 'pix-in', listed: 'return', endToEndId: 'E1', message: 'dev:E1:r1:REFUND' },
  BOOKING_UNLISTED: { booked: 'payment', endToEndId: 'E1' },
};

function facts<Code extends ItemCode>(code: Code): Facts<Code> {
  return { id: 'tx-1', since: SINCE, about: ABOUT, data: ITEMS[code] };
}

/** What a reader must find in either language: ids, names, times, addresses, commands; no sums of money. */
function namesIn(sentence: string): string[] {
  const form =
    /npx pixstate [a-z-]+ [\w-]*|https:[^ ,;']*|\b\w+_\w+\b|\b[A-Z][A-Z0-9_]+\b|\b(?:tx|m|r)-?\d+\b|\d{4}-\d\d-[\dT:.]+Z?/g;
  return (sentence.match(form) ?? []).filter((name) => name !== 'ALARM');
}

/** Words of English that are none of Portuguese. */
const ENGLISH = /(?<!-)\b(the|that|which|was|were|has|have|with|without|ask|and|is|its|here|then|since)\b/;

/** As far as no part is whoever's own words: a bank's, an error's. */
function isTranslated(sentence: string): boolean {
  const own = sentence.replace('the bank answers 401', '').replace('data.amount is wrong', '');
  return !ENGLISH.test(own);
}

s('each item is told in both languages, with the same names in both', () => {
  assert.equal(Object.keys(ptItems).sort(), Object.keys(enItems).sort());
  assert.equal(Object.keys(ITEMS).sort(), Object.keys(enItems).sort());
  for (const code of Object.keys(ITEMS) as ItemCode[]) {
    const [en, pt] = [itemSentences(code, facts(code)), itemSentences(code, facts(code), 'pt')];
    for (const part of ['what', 'next'] as const) {
      for (const name of namesIn(en[part]))
        assert.ok(pt[part].includes(name), `${code}: ${name} in ${pt[part]}`);
      assert.ok(isTranslated(pt[part]), `${code}: ${pt[part]}`);
      assert.not.match(`${en[part]} ${pt[part]}`, /undefined|null|NaN|\[object/, code);
    }
    assert.is(pt.what.includes('ALARME'), en.what.includes('ALARM'), code);
  }
});

s('each refusal is told in both languages, with the same names in both', () => {
  assert.equal(Object.keys(ptRefusals).sort(), Object.keys(enRefusals).sort());
  for (const code of Object.keys(REFUSALS) as RefusalCode[]) {
    const [en, pt] = [refusalText(code, REFUSALS[code]), refusalText(code, REFUSALS[code], 'pt')];
    for (const name of namesIn(en)) assert.ok(pt.includes(name), `${code}: ${name} in ${pt}`);
    assert.ok(isTranslated(pt), `${code}: ${pt}`);
    assert.not.match(`${en} ${pt}`, /undefined|null|NaN|\[object/, code);
    assert.is(refusalIn('en', { code, data: REFUSALS[code], text: 'kept' }), en);
    assert.is(refusalIn('pt', { code, data: REFUSALS[code], text: 'kept' }), pt);
  }
});

s('what has no code, or one of another build, is told as it was stored', () => {
  const kept = { id: 'x', since: SINCE, about: ABOUT, what: 'w', next: 'n' };
  for (const [code, data] of [
    [null, null],
    ['DELIVERY_DEAD', null],
    ['OF_A_LATER_BUILD', {}],
    ['toString', {}],
  ] as const) {
    assert.equal(itemIn('pt', { ...kept, code, data }), { what: 'w', next: 'n' });
    assert.is(refusalIn('pt', { code, data, text: 't' }), 't');
  }
  // Nobody kept how much it was.
  assert.is(refusalIn('pt', { code: 'AMOUNT_DIFFERS', data: null, text: 't' }), 't');
  assert.is(
    refusalIn('pt', { code: 'ALREADY_RETURNED', data: null, text: 't' }),
    'o pagamento já foi devolvido',
  );
});

s('an item about a refusal tells why in its own language', () => {
  const { what } = itemSentences('MESSAGE_REFUSED', facts('MESSAGE_REFUSED'), 'pt');
  assert.is(what, 'PAY (m-1) para a cobrança tx-1: uma cobrança no estado expired não aceita PAY');
  const { next } = itemSentences('DELIVERIES_REJECTED', {
    ...facts('DELIVERIES_REJECTED'),
    about: { ...ABOUT, url: "https://shop.example/a'b?c&d" },
  });
  assert.match(next, `--url 'https://shop.example/a'\\''b?c&d' --since 2026-11-23T00:00:00Z`);
});

s('the step of a return that counts already says how what was debited twice comes back', () => {
  for (const [status, step] of [
    ['pending', `npx pixstate send tx-1 REFUND_FAILED --data '{"refundId":"r-1"}'`],
    ['completed', 'npx pixstate account adjust'],
    ['failed', 'npx pixstate inspect tx-1'],
  ] as const) {
    const details = { ...REFUSALS.RETURN_COUNTED, status };
    const data = { ...message, refusal: 'RETURN_COUNTED', details, reason: 'kept' };
    const [en, pt] = [undefined, 'pt' as const].map((language) =>
      itemSentences('MESSAGE_REFUSED', { ...facts('MESSAGE_REFUSED'), data }, language),
    );
    assert.match(en?.next ?? '', step);
    for (const name of namesIn(en?.next ?? '')) assert.ok(pt?.next.includes(name), `${name} in ${pt?.next}`);
    assert.ok(isTranslated(pt?.next ?? ''), pt?.next);
  }
});

s('the step of a refund that is stuck asks for the bank’s id of it', () => {
  for (const language of ['en', 'pt'] as const) {
    const { next } = itemSentences('REFUND_STUCK', facts('REFUND_STUCK'), language);
    assert.match(next, /send tx-1 REFUND_DONE .* REFUND_FAILED --data '\{"refundId":"r-1"\}'.* returnId/);
  }
});

s('the step of a return that was not booked names the id by which it counts once', () => {
  const next = (booking?: ReturnBooking, language?: 'pt'): string => {
    const { data, ...given } = facts('RETURN_UNBOOKED');
    const { booking: _known, ...former } = data;
    const parts = booking === undefined ? former : { ...former, booking };
    return itemSentences('RETURN_UNBOOKED', { ...given, data: parts }, language).next;
  };
  const known = next({ returnId: 'D1' });
  assert.match(known, `send tx-1 REFUND or CHARGEBACK --data '{"amount":1000,"returnId":"D1"}'`);
  const named = `--data '{"amount":1000}' --id 'dev:E1:r1:`;
  for (const [language, or] of [
    [undefined, 'or'],
    ['pt', 'ou'],
  ] as const) {
    const unknown = next({ messageId: 'dev:E1:r1' }, language);
    assert.match(unknown, `send tx-1 REFUND ${named}REFUND' ${or} CHARGEBACK ${named}CHARGEBACK'`);
  }
  assert.match(next(), 'send tx-1 REFUND or CHARGEBACK with its amount', 'what a former build noted');
});

s('money is written as it is in Brazil', () => {
  const written = [0, 5, 1_234, 123_456, 123_456_789, -1_234_567].map(reais);
  assert.equal(written, [
    'R$ 0,00',
    'R$ 0,05',
    'R$ 12,34',
    'R$ 1.234,56',
    'R$ 1.234.567,89',
    'R$ -12.345,67',
  ]);
});

s.run();
