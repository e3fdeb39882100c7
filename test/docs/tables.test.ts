/** What the pages' tables list is what the code has: nothing is missing, and nothing is there no more. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { blocksOf } from '../../scripts/docs/blocks.ts';
import { ApiError, type ErrorCode } from '../../src/api/errors.ts';
import { openApiDocument } from '../../src/api/openapi/document.ts';
import { readConfig } from '../../src/config.ts';
import { EVENT_NAMES } from '../../src/domain/events.ts';
import { webhookPayload } from '../../src/domain/webhook-payload.ts';
import { webhookHeaders } from '../../src/webhooks/sender/attempt.ts';
import { packageRoot } from '../support/process.ts';
import { namesIn, read, rowsOf, sectionOf } from './page.ts';

const test = suite('docs/tables');

const api = read('docs/api.md');
const webhooks = read('docs/webhooks.md');
const operations = read('docs/operations.md');
const engineering = read('docs/engineering.md');

test('the configuration', () => {
  const rows = rowsOf(sectionOf(operations, '## Configuration'));
  const known = [
    ...[read('src/config.ts'), read('src/console/settings.ts')]
      .join('\n')
      .matchAll(/(?:reader|this)\.\w+\(\s*'([A-Z][A-Z_]+)'|reader\.text\('(\w+)'/g),
  ];
  const names = new Set(known.map(([, first, second]) => first ?? second));
  assert.equal(rows.flatMap(([cell = '']) => namesIn(cell)).sort(), [...names].sort());
  const config = readConfig({});
  const values = Object.values(config).map(String);
  for (const [name, shown = ''] of rows) {
    const plain = /^`?([\w./]+)`?$/.exec(shown)?.[1];
    if (plain !== undefined && plain !== 'off') assert.ok(values.includes(plain), `${name} ${plain}`);
  }
  assert.is(readConfig({ CONSOLE: 'off' }).adminPort, null);
});

test('the errors', () => {
  const rows = rowsOf(sectionOf(api, '## Errors'));
  const listed = rows.flatMap(([status = '', codes = '']) =>
    namesIn(codes).map((code) => ({ code, status: Number(status) })),
  );
  for (const { code, status } of listed) assert.is(new ApiError(code as ErrorCode, '').status, status, code);
  const [, table = ''] = /const STATUS = \{([\s\S]*?)\}/.exec(read('src/api/errors.ts')) ?? [];
  const codes = [...table.matchAll(/^ +([A-Z_]+):/gm)].map(([, code = '']) => code);
  assert.equal(listed.map(({ code }) => code).sort(), codes.sort());
});

test('the endpoints', () => {
  const listed = rowsOf(sectionOf(api, '## Endpoints')).map(([cell = '']) =>
    (namesIn(cell)[0] ?? '').replace(/\?.*$/, ''),
  );
  const { paths = {} } = openApiDocument(true, true) as { paths?: Record<string, object> };
  const there = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.equal(listed.sort(), there.sort());
});

test("the client's calls", () => {
  const listed = rowsOf(sectionOf(read('docs/client.md'), '## The calls')).map(
    ([, cell = '']) => namesIn(cell)[0] ?? '',
  );
  const { paths = {} } = openApiDocument(true, false) as { paths?: Record<string, object> };
  const there = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.equal(listed.sort(), there.sort());
});

test('the events, and what they look like', () => {
  const listed = namesIn(sectionOf(webhooks, '## Events'));
  assert.equal([...new Set(listed)].sort(), [...EVENT_NAMES].sort());
  const examples = blocksOf(webhooks).flatMap((block) =>
    block.kind === 'shown' ? [JSON.parse(block.code)] : [],
  );
  assert.is(examples.length, 2);
  for (const example of examples) {
    const { id, event: name, created_at: at, data } = example;
    const fee = { totalFee: data.fee.total_fee, netAmount: data.fee.net_amount };
    const { amount, customer, metadata, pix } = data;
    const externalRef = data.external_ref;
    const given = { amount, fee, metadata, externalRef, description: null };
    const times = { createdAt: data.created_at, paidAt: data.paid_at };
    const charge = {
      ...{ ...given, ...times, customer, additionalInfo: null, expiresAt: data.created_at, held: null },
      ...{ qrcode: pix.qrcode, endToEndId: pix.end_to_end_id },
    };
    const transfer = {
      ...{ ...given, ...times, idempotencyKey: null, startImplied: false },
      ...{ reference: pix.end_to_end_id, pixKeyType: pix.key_type, pixKey: pix.key },
    };
    const { id: transaction } = data;
    const payload = name.startsWith('pix-in.')
      ? webhookPayload({ id, name }, at, { id: transaction, type: 'pix-in', snapshot: { context: charge } })
      : webhookPayload({ id, name }, at, {
          id: transaction,
          type: 'cashout',
          snapshot: { context: transfer },
        });
    assert.equal(payload, example);
  }
});

test('the headers of a webhook', () => {
  const rows = rowsOf(sectionOf(webhooks, '## The request'));
  const send = {
    token: '',
    account: '',
    url: '',
    event: 'pix-in.paid',
    eventId: 'evt_1',
    transactionId: '1',
    body: '{}',
    secrets: [`whsec_${Buffer.alloc(24).toString('base64')}`],
  };
  const sent = webhookHeaders(send, Buffer.from('{}'), 0);
  assert.equal(rows.flatMap(([cell = '']) => namesIn(cell)).sort(), Object.keys(sent).sort());
  for (const [name = '', value = ''] of rows)
    if (/^`[^`]+`$/.test(value)) assert.is(sent[namesIn(name)[0] ?? ''], namesIn(value)[0], name);
});

/** The commands that a help text lists. */
function commandsOf(...args: string[]): string[] {
  const entry = join(packageRoot, 'dist', 'src', 'cli', 'pixstate.js');
  const help = execFileSync(process.execPath, [entry, ...args, '--help'], { encoding: 'utf8' });
  const [, list = ''] = help.split('\nCommands:\n');
  return [...list.matchAll(/^ {2}([a-z-]+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help');
}

test('the commands', () => {
  const names = rowsOf(sectionOf(operations, '## Commands')).flatMap(([cell = '']) => namesIn(cell));
  const top = names.map((name) => name.split(' ')[0] ?? '');
  assert.equal([...new Set(top)].sort(), commandsOf().sort());
  const ofAccounts = names
    .filter((name) => name.startsWith('account '))
    .map((name) => name.split(' ')[1] ?? '');
  assert.equal(ofAccounts.sort(), commandsOf('account').sort());
});

test('the folders, and what they may import', () => {
  const rows = rowsOf(sectionOf(engineering, '## Folders'));
  const folders = readdirSync(join(packageRoot, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}/`);
  const shown = new Map(
    rows
      .filter(([, , imports]) => imports !== undefined)
      .map(([cell = '', , imports = '']) => [namesIn(cell)[0] ?? '', imports]),
  );
  assert.equal([...shown.keys()].sort(), ['machines/', ...folders].sort());
  const [, rules = ''] = /const MAY_IMPORT[^=]*= (\{[\s\S]*?\n\});/.exec(read('test/tidy.test.ts')) ?? [];
  const allowed: Record<string, string[]> = new Function(`return ${rules}`)();
  for (const [folder, imports] of shown) {
    const own = allowed[folder.replace(/^src\/|\/$/g, '')];
    if (own === undefined) assert.is(imports, 'all', folder);
    else assert.equal(namesIn(imports).sort(), [...own].sort(), folder);
  }
});

test('the files in src/', () => {
  const files = readdirSync(join(packageRoot, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => `src/${name}`);
  const named = rowsOf(sectionOf(engineering, '## Folders')).flatMap(([cell = '']) => namesIn(cell));
  assert.equal(named.filter((name) => name.endsWith('.ts')).sort(), files.sort());
});

test.run();
