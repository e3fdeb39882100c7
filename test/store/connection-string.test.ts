/** What is known to be wrong with a connection string before anything is connected. */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigError, readConfig } from '../../src/config.ts';
import { packageRoot } from '../support/process.ts';

const test = suite('connection string');

const PASSWORD = 'geh3im-und-lang';
const SECRETS_KEY = Buffer.alloc(32).toString('base64');

function mistakesOf(MONGODB_URI: string, more: Record<string, string> = { SECRETS_KEY }): readonly string[] {
  try {
    readConfig({ MONGODB_URI, ...more });
    return [];
  } catch (error) {
    return (error as ConfigError).mistakes;
  }
}

const WRONG: readonly [uri: string, why: RegExp][] = [
  ['localhost:27017', /DATABASE\)$/],
  ['mongodb:///x', /DATABASE\)$/],
  ...['m1,', ',m1', 'h1,,h2', 'h1, h2', 'h 1', 'h:abc', 'h:99999', 'h:1:2', '[::1', '::1'].map(
    (hosts): [string, RegExp] => [
      `mongodb://user:${PASSWORD}@${hosts}/x`,
      /between its commas must be hosts/,
    ],
  ),
  // Whoever forgets the host has the password in its place.
  [`mongodb://user:${PASSWORD}/x`, /between its commas must be hosts/],
  [`mongodb://user:${PASSWORD}@h:0/x`, /Invalid port/],
  [`mongodb://user:${PASSWORD}@more@h/x`, /Invalid connection string/],
  [`mongodb://user:${PASSWORD}@h/x?foo=bar`, /option foo is not supported/],
  [`mongodb://user:${PASSWORD}@h/x?replicaSet=`, /replicaSet/],
  [`mongodb://user:${PASSWORD}@h/x?minPoolSize=9&maxPoolSize=8`, /minPoolSize 9 is above maxPoolSize 8/],
  // Balances beyond 2^31 would be read as objects, and be written so.
  [`mongodb://user:${PASSWORD}@h/x?promoteLongs=false`, /promoteLongs must be true/],
  [`mongodb://user:${PASSWORD}@h/x?promote%4Congs=false&w=1`, /promoteLongs must be true/],
  [`mongodb://user:${PASSWORD}@h/x?PROMOTEVALUES=false`, /promoteValues must be true/],
  [`mongodb://user:${PASSWORD}@h/x?enableUtf8Validation=false`, /enableUtf8Validation must be true/],
  ...['promoteBuffers', 'useBigInt64', 'bsonRegExp', 'ignoreUndefined', 'serializeFunctions', 'raw'].map(
    (name): [string, RegExp] => [
      `mongodb://user:${PASSWORD}@h/x?${name}=true`,
      new RegExp(`${name} must be false`),
    ],
  ),
  [`mongodb://user:${PASSWORD}@h/x?fieldsAsRaw=a`, /fieldsAsRaw must be an object/],
  [`mongodb://user:${PASSWORD}@h/a.b`, /Database names/],
  [`mongodb://user:${PASSWORD}@h/a%zz`, /malformed/],
];

test('a connection string that the driver can’t take is one mistake, told without its password', () => {
  for (const [uri, why] of WRONG) {
    const [mistake = '', ...others] = mistakesOf(uri);
    assert.equal(others, [], uri);
    assert.ok(mistake.startsWith('MONGODB_URI must be a MongoDB connection string'), `${uri}: ${mistake}`);
    assert.match(mistake, why, uri);
    assert.is(mistake.includes(PASSWORD), false, mistake);
  }
});

test('it is told with all others', () => {
  const mistakes = mistakesOf('mongodb://h/x?foo=bar', { PORT: 'x' });
  assert.equal(
    mistakes.map((each) => each.split(' ')[0]),
    ['MONGODB_URI', 'SECRETS_KEY', 'PORT'],
  );
});

test('files that it names must be there, where they are used', () => {
  const nowhere = '/nowhere/at-all.pem';
  for (const name of ['tlsCAFile', 'tlsCertificateKeyFile', 'tlsCRLFile']) {
    const mistake = `MONGODB_URI names a ${name} that can't be read`;
    assert.equal(mistakesOf(`mongodb://h/x?tls=true&${name}=${nowhere}`), [
      `${mistake} (ENOENT): ${nowhere}`,
    ]);
    assert.equal(mistakesOf(`mongodb+srv://h.example.com/x?${name}=/`), [`${mistake} (EISDIR): /`]);
    assert.equal(mistakesOf(`mongodb://h/x?${name}=${nowhere}`), []);
    assert.equal(mistakesOf(`mongodb://h/x?tls=true&${name}=${join(packageRoot, 'package.json')}`), []);
  }
});

test('a database of MongoDB’s own can’t be named', () => {
  const local = 'is never replicated: what lies there is lost when another member takes over';
  const config = "holds the server's and the cluster's own settings";
  for (const [name, why] of [
    ['local', local],
    ['Local', local],
    ['l%6Fcal', local],
    ['config', config],
  ] as const)
    assert.equal(mistakesOf(`mongodb://user:${PASSWORD}@h/${name}?replicaSet=rs0`), [
      `MONGODB_URI names the database ${decodeURIComponent(name)}, which ${why}`,
    ]);
  for (const path of ['/localities', '/pixstate_local', '?authSource=config'])
    assert.equal(mistakesOf(`mongodb://user:${PASSWORD}@local${path}`), [], path);
});

test('what the driver takes is none', () => {
  const hosts = [
    'h',
    'h:',
    'h:27017',
    'h1,h2:2,h3',
    '[::1]',
    '[::1]:27018,h',
    '%2Ftmp%2Fmongodb.sock',
    'a_b',
  ];
  for (const each of hosts) assert.equal(mistakesOf(`mongodb://user:${PASSWORD}@${each}/x`), [], each);
  assert.equal(mistakesOf('mongodb+srv://cluster.example.com/x?minPoolSize=99'), []);
  assert.equal(mistakesOf('mongodb://h/x?promoteLongs=true&useBigInt64=false&raw=false'), []);
});

test.run();
