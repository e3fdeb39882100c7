import type { LookupAddress } from 'node:dns';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkWebhookUrl, isAllowedLiteral, publicAddress } from '../../../src/webhooks/address.ts';
import { AddressLookup } from '../../../src/webhooks/sender/lookup.ts';

const test = suite('webhook addresses');

const NOT_PUBLIC = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.255'],
  ...[
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
  ],
  ...[
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
  ],
  ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '64:ff9b::7f00:1'],
  ...['64:ff9b:1::1', '100::1', '2001::1', '2001:2::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', '5f00::1'],
  ...[
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2606:4700::1%eth0',
    'nonsense',
    '',
  ],
];
const PUBLIC = [
  ...['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '192.0.1.1'],
  ...[
    '198.17.255.255',
    '198.20.0.1',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450::1',
    '2001:4860::1',
  ],
];

test('public is what the internet routes', () => {
  for (const address of NOT_PUBLIC) assert.is(publicAddress(address), false, address);
  for (const address of PUBLIC) assert.is(publicAddress(address), true, address);
});

test('names pass as literals, to be looked up later', () => {
  assert.is(isAllowedLiteral('example.com'), true);
  assert.is(isAllowedLiteral('localhost'), true);
  assert.is(isAllowedLiteral('[::1]'), false);
  assert.is(isAllowedLiteral('[2606:4700:4700::1111]'), true);
});

test('literals that are not public are refused in every notation', () => {
  const hosts = [
    ...[
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '0x7f000001',
      '017700000001',
      '0',
      '127.0.0.1.',
      '0177.0.0.1',
    ],
    ...[
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:0:0:1]',
      '[fe80::1]',
      '[fd00::1]',
    ],
    ...[
      '10.1',
      '169.254.169.254',
      '192.168.257',
      '[64:ff9b::10.0.0.1]',
      '[2002:7f00:1::]',
      '%31%32%37.0.0.1',
    ],
    ...['１２７.0.0.1', '[fe80::1%25eth0]'],
  ];
  for (const host of hosts) {
    assert.is(checkWebhookUrl(`http://${host}/hook`, { allowPrivate: false }).ok, false, host);
  }
  for (const host of hosts.filter((each) => !each.includes('%25'))) {
    assert.is(checkWebhookUrl(`http://${host}:8080/hook`, { allowPrivate: true }).ok, true, host);
  }
});

test('takes http and https URLs, kept as given', () => {
  const long = `https://example.com/${'x'.repeat(2048 - 20)}`;
  for (const url of ['https://example.com', 'http://EXAMPLE.com:8443/a?b=c%20d', 'https://açaí.br/é', long]) {
    assert.equal(checkWebhookUrl(url, { allowPrivate: false }), { ok: true, url });
  }
});

test('refuses what is no clean URL', () => {
  for (const url of [
    ...['', 'example.com', '//example.com', 'ftp://example.com', 'javascript:alert(1)', 'file:///etc/passwd'],
    ...[
      'http:example.com',
      'http:/example.com',
      'http:\\\\example.com',
      'http://exa mple.com',
      ' http://example.com',
    ],
    ...[
      'http://example.com/\n',
      'http://user@example.com',
      'http://user:pass@example.com',
      'http://@example.com',
    ],
    ...[
      'http://example.com/#part',
      'http://example.com/#',
      'http://',
      'http:///hook',
      'http://example.com:99999',
    ],
    ...['http://[::1', 'http://256.256.256.256', `https://example.com/${'x'.repeat(2049 - 20)}`],
    `https://example.com/${'é'.repeat(700)}`,
  ]) {
    const checked = checkWebhookUrl(url, { allowPrivate: true });
    assert.is(checked.ok, false, url);
    if (!checked.ok) assert.ok(checked.message.endsWith('.'));
  }
});

function lookingUp(addresses: string[], allowPrivate = false): Promise<string | LookupAddress[]> {
  const resolve = (_: string, found: (error: null, all: LookupAddress[]) => void) =>
    found(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  const { lookup } = new AddressLookup({ allowPrivate, resolve });
  return new Promise((done) => {
    lookup('example.com', { all: true }, (error, found) => done(error?.code ?? found));
  });
}

test('one address that is not public refuses the name', async () => {
  assert.is(await lookingUp(['8.8.8.8', '10.0.0.1']), 'ADDRESS_NOT_ALLOWED');
  assert.is(await lookingUp(['::1']), 'ADDRESS_NOT_ALLOWED');
  assert.is(await lookingUp([]), 'ENOTFOUND');
  assert.equal(await lookingUp(['8.8.8.8']), [{ address: '8.8.8.8', family: 4 }]);
  assert.equal(await lookingUp(['10.0.0.1'], true), [{ address: '10.0.0.1', family: 4 }]);
});

test('a name is looked up once at a time, and slow names leave room for others', async () => {
  const asked: string[] = [];
  const pending: Array<() => void> = [];
  const resolve = (hostname: string, found: (error: null, all: LookupAddress[]) => void) => {
    asked.push(hostname);
    pending.push(() => found(null, [{ address: '8.8.8.8', family: 4 }]));
  };
  const { lookup } = new AddressLookup({ allowPrivate: false, resolve });
  let answers = 0;
  const ask = (hostname: string) =>
    lookup(hostname, {}, () => {
      answers += 1;
    });
  for (const hostname of ['a', 'a', 'b', 'a', 'c']) ask(hostname);
  assert.equal(asked, ['a', 'b']);
  pending[0]?.();
  assert.is(answers, 3);
  assert.equal(asked, ['a', 'b', 'c']);
  ask('a');
  await new Promise((done) => setImmediate(done));
  assert.is(answers, 4, 'remembered');
  assert.is(asked.length, 3);
});

/** A lookup by a clock of the test's own; `answer` settles the oldest question about a name. */
function clocked(): {
  ask(hostname: string): Promise<string>;
  asked: string[];
  answer(hostname: string, error: string | null): void;
  clock: { ms: number };
} {
  const clock = { ms: 1_000 };
  Object.defineProperty(performance, 'now', { value: () => clock.ms, configurable: true });
  const asked: string[] = [];
  const pending = new Map<string, (error: NodeJS.ErrnoException | null, all: LookupAddress[]) => void>();
  const { lookup } = new AddressLookup({
    allowPrivate: false,
    resolve: (hostname, found) => {
      asked.push(hostname);
      pending.set(hostname, found);
    },
  });
  return {
    asked,
    clock,
    ask: (hostname) =>
      new Promise((done) => lookup(hostname, {}, (error, address) => done(error?.code ?? String(address)))),
    answer: (hostname, error) => {
      const all = error === null ? [{ address: '8.8.8.8', family: 4 }] : [];
      pending.get(hostname)?.(error === null ? null : Object.assign(new Error(error), { code: error }), all);
    },
  };
}

async function withClock(body: (lookups: ReturnType<typeof clocked>) => Promise<void>): Promise<void> {
  try {
    await body(clocked());
  } finally {
    Reflect.deleteProperty(performance, 'now');
  }
}

test('names whose server does not answer take no addresses from one that is known', () =>
  withClock(async ({ ask, answer, asked, clock }) => {
    const first = ask('good');
    answer('good', null);
    assert.is(await first, '8.8.8.8');
    void ask('dead1');
    void ask('dead2');
    clock.ms += 60_000;
    assert.is(await ask('good'), '8.8.8.8', 'both places are taken');
    assert.equal(asked, ['good', 'dead1', 'dead2']);
    answer('dead1', 'EAI_AGAIN');
    answer('good', 'EAI_AGAIN');
    assert.is(await ask('good'), '8.8.8.8', 'nobody knows a newer one');
    clock.ms += 2_000;
    const gone = ask('good');
    answer('good', 'ENOTFOUND');
    assert.is(await gone, 'ENOTFOUND', 'what is known to be gone is gone');
  }));

test('addresses that were found too long ago are not used', () =>
  withClock(async ({ ask, answer, clock }) => {
    const first = ask('good');
    answer('good', null);
    await first;
    clock.ms += 601_000;
    const later = ask('good');
    answer('good', 'EAI_AGAIN');
    assert.is(await later, 'EAI_AGAIN');
  }));

test('a name that was slow once has one place of two for minutes, whatever it answers meanwhile', () =>
  withClock(async ({ ask, answer, asked, clock }) => {
    for (const hostname of ['slow1', 'slow2']) {
      void ask(hostname);
      clock.ms += 10_000;
      answer(hostname, 'EAI_AGAIN');
      clock.ms += 2_000;
      void ask(hostname);
      answer(hostname, 'EAI_AGAIN');
      clock.ms += 2_000;
    }
    asked.length = 0;
    void ask('slow1');
    void ask('slow2');
    void ask('new');
    assert.equal(asked, ['slow1', 'new']);
    answer('slow1', 'EAI_AGAIN');
    assert.equal(asked, ['slow1', 'new', 'slow2']);
    answer('slow2', 'EAI_AGAIN');
    answer('new', 'EAI_AGAIN');
    clock.ms += 301_000;
    void ask('slow1');
    void ask('slow2');
    assert.equal(asked.slice(3), ['slow1', 'slow2']);
  }));

test.run();
