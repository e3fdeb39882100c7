/** `Dockerfile` and `docker-compose.yml`, as far as they can be checked without Docker. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { SHARED_ID } from '../../src/accounts/demo-account.ts';
import { readConfig } from '../../src/config.ts';
import { at, type Json, keys, list, object, text } from '../support/json.ts';
import { packageRoot } from '../support/process.ts';

const test = suite('docker');

const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8');

const compose: Json = parse(read('docker-compose.yml'), { strict: true, uniqueKeys: true });
const manifest: Json = JSON.parse(read('package.json'));

interface Instruction {
  name: string;
  value: string;
}

/** Lines that end in a backslash go on; comments and empty lines are left out. */
const instructions: Instruction[] = read('Dockerfile')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .join('\n')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .map((line) => {
    const [name = '', ...words] = line.split(' ');
    return { name, value: words.join(' ') };
  });

function valuesOf(wanted: string): string[] {
  return instructions.filter(({ name }) => name === wanted).map(({ value }) => value);
}

/** The environment that compose gives the server where its user sets nothing. */
function serverEnvironment(): Record<string, string> {
  const environment = object(compose, 'services.server.environment');
  const filledIn = (value: string): string => value.replace(/\$\{\w+:-([^}]*)\}/g, '$1');
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, filledIn(String(value))]),
  );
}

test('the account that compose lets in is the one that the server makes', () => {
  const told = [...read('docker-compose.yml').matchAll(/account set (\S+)/g)].map(([, id]) => id);
  assert.equal(told, [SHARED_ID]);
});

test('compose starts a replica set of one, and the server once it is there', () => {
  assert.equal(keys(compose, 'services'), ['mongo', 'server']);
  assert.equal(keys(compose, 'services.mongo'), ['command', 'healthcheck', 'image', 'volumes']);
  assert.equal(keys(compose, 'services.server'), ['build', 'depends_on', 'environment', 'init', 'ports']);
  assert.is(at(compose, 'services.server.depends_on.mongo.condition'), 'service_healthy');
  assert.is(at(compose, 'services.server.init'), true);
  const { SECRETS_KEY: _, MONGODB_URI = '' } = serverEnvironment();
  const [, host, set] = /^mongodb:\/\/([\w:]+)\/\w+\?replicaSet=(\w+)$/.exec(MONGODB_URI) ?? [];
  assert.ok(list(compose, 'services.mongo.command').join(' ').includes(`--replSet ${set}`));
  const script = text(compose, 'services.mongo.healthcheck.test.4');
  assert.match(script, `{_id: '${set}', members: [{_id: 0, host: '${host}'}]}`);
  const run = new Function('rs', 'db', 'quit', script);
  const codes: number[] = [];
  let made = 0;
  const rs = {
    status: () => {
      if (made === 0) throw new Error('no set yet');
    },
    initiate: () => {
      made += 1;
    },
  };
  for (const isWritablePrimary of [false, true])
    run(rs, { hello: () => ({ isWritablePrimary }) }, (code: number) => codes.push(code));
  assert.equal({ made, codes }, { made: 1, codes: [1, 0] });
  const mounts = list(compose, 'services.mongo.volumes').map(String);
  assert.equal(
    mounts.map((mount) => mount.split(':')[0]),
    keys(compose, 'volumes'),
  );
});

test('what compose sets is a configuration that the server takes', () => {
  const environment = serverEnvironment();
  const config = readConfig(environment);
  assert.is(config.mongodbUri, environment.MONGODB_URI);
  assert.is(config.host, '0.0.0.0');
  const known = new Set([...read('src/config.ts').matchAll(/'([A-Z][A-Z_]+)'/g)].map(([, name]) => name));
  for (const name of [...Object.keys(environment), ...environmentOfImage()])
    assert.ok(known.has(name), `${name} is no variable of the server`);
});

function environmentOfImage(): string[] {
  return valuesOf('ENV').flatMap((value) => value.split(' ').map((pair) => pair.split('=')[0] ?? ''));
}

test('only this machine reaches what compose publishes, where the server listens', () => {
  const ports = list(compose, 'services.server.ports').map(String);
  const { port } = readConfig(serverEnvironment());
  assert.equal(ports, [`127.0.0.1:${port}:${port}`]);
  assert.equal(valuesOf('EXPOSE'), [String(port)]);
});

test('no link to a console is printed that nobody outside could follow', () => {
  const { adminPort, console: hasConsole } = readConfig(serverEnvironment());
  assert.equal({ adminPort, hasConsole }, { adminPort: null, hasConsole: false });
});

test('the Dockerfile has instructions that exist, and stages that it names', () => {
  const KNOWN = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'EXPOSE', 'HEALTHCHECK', 'CMD'];
  for (const { name } of instructions) assert.ok(KNOWN.includes(name), name);
  assert.is(instructions[0]?.name, 'FROM');
  const stages = valuesOf('FROM').map((value) => / AS (\w+)$/.exec(value)?.[1]);
  for (const value of valuesOf('COPY')) {
    const stage = /^--from=(\w+) /.exec(value)?.[1];
    assert.ok(stage === undefined || stages.includes(stage), value);
  }
  for (const image of valuesOf('FROM')) assert.match(image, /^node:24-slim( AS build)?$/);
  assert.is(valuesOf('USER').at(-1), 'node');
  assert.ok(valuesOf('RUN').some((value) => value.includes(`/app/${text(manifest, 'bin.pixstate')} `)));
});

test('what the Dockerfile copies is there, and not ignored', () => {
  const [all, ...exceptions] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  assert.is(all, '*');
  const taken = exceptions.map((line) => line.replace(/^!/, ''));
  const copied = valuesOf('COPY')
    .filter((value) => !value.startsWith('--from'))
    .flatMap((value) => value.split(' ').slice(0, -1));
  assert.equal(copied.sort(), taken.sort());
  for (const path of copied) assert.ok(existsSync(join(packageRoot, path)), path);
});

test('the image runs what npm start runs', () => {
  const command: string[] = JSON.parse(valuesOf('CMD')[0] ?? '');
  const start = text(manifest, 'scripts.start');
  // The shell gives way to node, which gets the signals then.
  assert.equal(command, ['sh', '-c', start.slice(start.indexOf('exec '))]);
});

test('its health is its readiness', () => {
  const [, words = ''] = /CMD (.*)$/.exec(valuesOf('HEALTHCHECK')[0] ?? '') ?? [];
  const [program, flag, script = ''] = JSON.parse(words) as string[];
  assert.equal([program, flag], ['node', '-e']);
  new Function(script);
  assert.match(script, '/readyz');
});

test.run();
