import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { WebhookCheck } from '../../src/domain/webhook-signature.ts';
import {
  isWebhookSecret,
  signWebhook,
  verifyWebhook,
  webhookKey,
} from '../../src/domain/webhook-signature.ts';
import { holds } from './holds.ts';

const s = suite('webhook-signature');

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const TIMESTAMP = 1614265330;
const BODY = '{"test": 2432232314}';
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

function check(changes: Partial<WebhookCheck> = {}): boolean {
  return verifyWebhook({
    secrets: [SECRET],
    id: ID,
    timestamp: String(TIMESTAMP),
    signatureHeader: SIGNATURE,
    body: BODY,
    now: TIMESTAMP,
    toleranceSeconds: 300,
    ...changes,
  });
}

s('the golden vector comes out', () => {
  assert.is(signWebhook(SECRET, ID, TIMESTAMP, BODY), SIGNATURE);
  assert.is(signWebhook(SECRET, ID, TIMESTAMP, Buffer.from(BODY)), SIGNATURE);
  assert.is(signWebhook(SECRET.slice('whsec_'.length), ID, TIMESTAMP, BODY), SIGNATURE);
  assert.is(signWebhook(webhookKey(SECRET), ID, TIMESTAMP, BODY), SIGNATURE);
});

s('the reference library signs the same', () => {
  const key = fc.uint8Array({ minLength: 24, maxLength: 64 });
  const text = fc.string({ unit: 'grapheme' });
  holds(
    fc.property(key, fc.string(), fc.nat(), text, (bytes, id, timestamp, body) => {
      const secret = `whsec_${Buffer.from(bytes).toString('base64')}`;
      const signature = new Webhook(secret).sign(id, new Date(timestamp * 1000), body);
      assert.is(signWebhook(secret, id, timestamp, body), signature);
      assert.ok(
        check({
          secrets: [secret],
          id,
          timestamp: String(timestamp),
          signatureHeader: signature,
          body,
          now: timestamp,
        }),
      );
    }),
  );
});

s('a right signature is true, with text or bytes and any spelling of the secret', () => {
  assert.ok(check());
  assert.ok(check({ body: Buffer.from(BODY) }));
  assert.ok(check({ secrets: [SECRET.slice('whsec_'.length)] }));
  assert.ok(check({ secrets: [webhookKey(SECRET)] }));
});

s('anything changed is false', () => {
  assert.not(check({ id: `${ID}x` }));
  assert.not(check({ body: `${BODY} ` }));
  assert.not(check({ timestamp: String(TIMESTAMP + 1) }));
  assert.not(check({ secrets: [OTHER_SECRET] }));
  assert.not(check({ secrets: [] }));
});

s('one of several signatures and one of several secrets is enough', () => {
  const other = signWebhook(OTHER_SECRET, ID, TIMESTAMP, BODY);
  assert.ok(check({ signatureHeader: `${other} ${SIGNATURE}` }));
  assert.ok(check({ signatureHeader: `v1,nonsense v2,${SIGNATURE.slice(3)} ${SIGNATURE}` }));
  assert.ok(check({ secrets: [OTHER_SECRET, SECRET] }));
  assert.ok(check({ secrets: [SECRET, OTHER_SECRET], signatureHeader: other }));
  assert.not(check({ signatureHeader: `${other} v1,nonsense` }));
});

s('only v1 counts', () => {
  for (const header of [
    '',
    ' ',
    'v1',
    'v1,',
    SIGNATURE.slice(3),
    `v1a${SIGNATURE.slice(2)}`,
    `v2${SIGNATURE.slice(2)}`,
  ]) {
    assert.not(check({ signatureHeader: header }), header);
  }
  assert.not(check({ signatureHeader: SIGNATURE.replace(/=$/, '') }));
  assert.not(check({ signatureHeader: `${SIGNATURE},x` }));
});

s('old and early timestamps are false', () => {
  assert.ok(check({ now: TIMESTAMP + 300 }));
  assert.ok(check({ now: TIMESTAMP - 300 }));
  assert.not(check({ now: TIMESTAMP + 301 }));
  assert.not(check({ now: TIMESTAMP - 301 }));
  assert.not(check({ now: Number.NaN }));
});

s('a timestamp that is no whole number is false, even when it is signed', () => {
  const sign = (timestamp: string) =>
    createHmac('sha256', webhookKey(SECRET)).update(`${ID}.${timestamp}.${BODY}`).digest('base64');
  assert.ok(check({ signatureHeader: `v1,${sign(String(TIMESTAMP))}` }));
  for (const timestamp of [
    '',
    '1614265330.0',
    '1614265330.5',
    '-1614265330',
    '+1614265330',
    ' 1614265330',
    '0x60',
    '1e9',
  ]) {
    const now = Number(timestamp);
    assert.not(check({ timestamp, now, signatureHeader: `v1,${sign(timestamp)}` }), timestamp);
  }
});

s('secrets are base64 of 24 to 64 bytes', () => {
  for (const length of [24, 25, 32, 63, 64]) {
    const text = Buffer.alloc(length, 0xfb).toString('base64');
    assert.ok(isWebhookSecret(text), text);
    assert.ok(isWebhookSecret(`whsec_${text}`));
    assert.is(webhookKey(`whsec_${text}`).length, length);
  }
  const url = Buffer.alloc(32, 0xfb).toString('base64url');
  const unpadded = SECRET.slice(0, -1);
  const short = Buffer.alloc(23, 1).toString('base64');
  const long = Buffer.alloc(65, 1).toString('base64');
  for (const secret of [
    '',
    'whsec_',
    url,
    unpadded,
    short,
    long,
    ` ${SECRET}`,
    `${SECRET}\n`,
    `WHSEC_${SECRET}`,
  ]) {
    assert.not(isWebhookSecret(secret), secret);
    assert.throws(
      () => webhookKey(secret),
      (error: Error) => error instanceof RangeError,
    );
  }
});

s.run();
