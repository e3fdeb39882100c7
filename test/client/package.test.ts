/** The client as a package: its types are those of the document, it is small, and others can import it. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clientTypes, TYPES_FILE } from '../../scripts/client/types.ts';
import { packageRoot, temporaryFolder } from '../support/process.ts';

const test = suite('client/package');

const MOST_BYTES = 10_000;

test('the types are what the document makes', async () => {
  const kept = readFileSync(join(packageRoot, TYPES_FILE), 'utf8');
  assert.is(await clientTypes(), kept, 'npm run client:types makes them again');
});

test('it is small, and needs nothing but standardwebhooks', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(packageRoot, 'src/client/pixstate.ts')],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    external: ['standardwebhooks'],
    metafile: true,
    write: false,
  });
  const bytes = outputFiles[0]?.contents.length ?? 0;
  assert.ok(bytes > 1_000 && bytes < MOST_BYTES, `${bytes} bytes`);
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  assert.equal(imported, ['standardwebhooks']);
  const { dependencies } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
  assert.ok('standardwebhooks' in dependencies);
});

/** An application in a folder of its own that has the package installed. */
async function application(files: Record<string, string>, installed = packageRoot): Promise<string> {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(installed, join(folder, 'node_modules', 'pixstate'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function compiled(folder: string): { status: number | null; stdout: string } {
  const tsc = join(packageRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout };
}

/** What merchants write, with what the compiler is to find wrong in it. */
const MERCHANT = `
import { Pixstate, PixstateError, verifyWebhook } from 'pixstate/client';
const pixstate = new Pixstate({ baseUrl: 'https://pix.example/v1', clientId: 'a', clientSecret: 'b' });
const charge = await pixstate.pixIn.create({ amount: 100 });
const paid: boolean = charge.status === 'paid';
// @ts-expect-error a state that there is not
charge.status === 'settled';
// @ts-expect-error a field that there is not
await pixstate.pixIn.create({ amount: 100, external_ref: 'order' });
// @ts-expect-error exactly one of its names
await pixstate.pixIn.get({ id: 'a', externalRef: 'b' });
try {
  await pixstate.balance();
} catch (error) {
  if (!(error instanceof PixstateError)) throw error;
  if (error.code === 'DUPLICATE_REQUEST') console.log(error.transactionId.length);
  if (error.code === 'VALIDATION_ERROR') for (const { field } of error.details) console.log(field.length);
  // @ts-expect-error this code has no details
  if (error.code === 'TIMEOUT') console.log(error.details);
  if (error.code === 'UNEXPECTED_ANSWER') console.log(error.httpStatus.toFixed());
  if (error.code === 'NO_ANSWER') { const none: null = error.httpStatus; console.log(none); }
  // @ts-expect-error without a look at the code there may be no status
  console.log(error.httpStatus.toFixed());
  // @ts-expect-error a code that there is not
  if (error.code === 'OUT_OF_COFFEE') console.log(paid);
}
const event = verifyWebhook('{}', {}, 'whsec_');
verifyWebhook(await new Request('https://shop.example').arrayBuffer(), new Headers(), 'whsec_');
if (event.event === 'pix-in.paid') console.log(event.data.pix.qrcode);
if (event.type === 'refund') console.log(event.data.transaction_id);
// @ts-expect-error only a transfer has a key
if (event.type === 'pix-in') console.log(event.data.pix.key);
`;

test('its types hold in an application, with lib DOM and with node alone', async () => {
  const compilerOptions = { strict: true, exactOptionalPropertyTypes: true, noEmit: true, target: 'ES2023' };
  const folder = await application({ 'merchant.mts': MERCHANT });
  try {
    for (const [environment, resolution] of [
      [{ lib: ['ES2023', 'DOM', 'DOM.Iterable'], types: [] }, { module: 'NodeNext' }],
      [
        { lib: ['ES2023', 'DOM', 'DOM.Iterable'], types: [] },
        { module: 'ESNext', moduleResolution: 'bundler' },
      ],
      [
        { lib: ['ES2023'], types: ['node'], typeRoots: [join(packageRoot, 'node_modules/@types')] },
        { module: 'NodeNext' },
      ],
    ]) {
      const config = {
        compilerOptions: { ...compilerOptions, ...environment, ...resolution },
        files: ['merchant.mts'],
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
      assert.equal(compiled(folder), { status: 0, stdout: '' });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What an application sees of a module, or why it sees nothing. */
function load(folder: string, name: string): string {
  const code = `console.log(Object.keys(await import('${name}')).sort().join())`;
  const args = ['--input-type=module', '-e', code];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return stdout + stderr;
}

const EXPORTED = 'Pixstate,PixstateError,WebhookRejected,verifyWebhook\n';

test('it runs by its name, and nothing else of the package does', async () => {
  const folder = await application({});
  try {
    assert.is(load(folder, 'pixstate/client'), EXPORTED);
    assert.match(load(folder, 'pixstate/dist/src/main.js'), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The package as npm packs it, of the build that is there: none is made for it. */
function packed(folder: string): string {
  const source = join(folder, 'source');
  mkdirSync(join(source, 'scripts'), { recursive: true });
  for (const name of ['package.json', '.gitignore'])
    copyFileSync(join(packageRoot, name), join(source, name));
  writeFileSync(join(source, 'scripts/build.js'), '');
  cpSync(join(packageRoot, 'dist/'), join(source, '.build/newest'), { recursive: true, dereference: true });
  symlinkSync('.build/newest', join(source, 'dist'));
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: source, encoding: 'utf8' });
    assert.is(status, 0, stdout + stderr);
  };
  run('npm', 'pack', '--silent');
  run('tar', '-xzf', 'pixstate-0.1.0.tgz', '-C', folder);
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'package/node_modules'));
  return join(folder, 'package');
}

test('what npm packs has the build, with the client and the command', async () => {
  const folder = await temporaryFolder();
  const merchant = await application({}, packed(folder));
  try {
    assert.is(load(merchant, 'pixstate/client'), EXPORTED);
    const command = join(folder, 'package/dist/src/cli/pixstate.js');
    const { stdout, stderr } = spawnSync(process.execPath, [command, '--version'], { encoding: 'utf8' });
    assert.is(stdout, '0.1.0\n', stderr);
  } finally {
    for (const each of [merchant, folder]) rmSync(each, { recursive: true });
  }
});

test.run();
