/** The console's files: one page at every address without a file's ending, and files that never change. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import Koa from 'koa';
import { request } from 'undici';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { failed } from '../../src/console/server/errors.ts';
import { readStatic, serveStatic } from '../../src/console/server/static.ts';

const test = suite<{ folder: string; server: Server; root: string }>('static');

const PAGE = '<!doctype html><title>Pixstate</title>';

test.before(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), 'pixstate-test-'));
  await mkdir(join(context.folder, 'more'));
  await writeFile(join(context.folder, 'index.html'), PAGE);
  for (const name of ['app-1a2b.js', 'more/style-3c4d.css']) {
    await writeFile(join(context.folder, name), 'text');
    await writeFile(join(context.folder, `${name}.gz`), gzipSync('text'));
  }
  await writeFile(join(context.folder, 'note.txt'), 'is no file of a page');
  const files = readStatic(context.folder);
  const app = new Koa();
  app.use(async (ctx) => {
    try {
      serveStatic(ctx, files);
    } catch (error) {
      const { status, headers, body } = failed(error);
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
  });
  context.server = createServer(app.callback());
  await new Promise<void>((resolve) => context.server.listen(0, '127.0.0.1', resolve));
  context.root = `http://127.0.0.1:${(context.server.address() as AddressInfo).port}`;
});
test.after(async ({ server, folder }) => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

test('the page is at every address of the console, and asked for anew', async ({ root }) => {
  for (const path of ['/', '/t/496a7767-9930-4317-895a-8e03085cbf8d', '/accounts?q=x', '/index.html']) {
    const { statusCode, headers, body } = await request(`${root}${path}`);
    assert.is(statusCode, 200, path);
    assert.is(headers['content-type'], 'text/html; charset=utf-8');
    assert.is(headers['cache-control'], 'no-cache');
    assert.is(await body.text(), PAGE);
  }
});

test('a file is kept for ever, and packed for those who take that', async ({ root }) => {
  for (const [path, type] of [
    ['/app-1a2b.js', 'text/javascript; charset=utf-8'],
    ['/more/style-3c4d.css', 'text/css; charset=utf-8'],
  ]) {
    const plain = await request(`${root}${path}`);
    assert.is(plain.headers['content-type'], type);
    assert.match(String(plain.headers['cache-control']), /max-age=31536000, immutable/);
    assert.is(plain.headers['content-encoding'], undefined);
    assert.is(await plain.body.text(), 'text');
    const packed = await request(`${root}${path}`, { headers: { 'accept-encoding': 'gzip, br' } });
    assert.is(packed.headers['content-encoding'], 'gzip');
    assert.is(packed.headers['content-type'], type);
    assert.is(gunzipSync(Buffer.from(await packed.body.arrayBuffer())).toString(), 'text');
  }
});

test('nothing else is given out', async ({ root }) => {
  for (const path of [
    '/none.js',
    '/note.txt',
    '/app-1a2b.js.gz',
    '/../package.json',
    '/%2e%2e/package.json',
    '/..%2fpackage.json',
  ]) {
    const { statusCode, body } = await request(`${root}${path}`);
    assert.is(statusCode, 404, path);
    assert.match(await body.text(), /"NOT_FOUND"/);
  }
  const post = await request(`${root}/`, { method: 'POST' });
  assert.is(post.statusCode, 405);
  assert.is(post.headers.allow, 'GET, HEAD');
  await post.body.dump();
});

test('where nothing was built there are no files', () => {
  assert.is(readStatic(join(tmpdir(), 'pixstate-none')).size, 0);
});

test.run();
