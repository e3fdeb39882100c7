/** The yardstick: bare Koa with the API's router and body parser, answering about as many bytes as the API does. */
import { Router } from '@koa/router';
import Koa from 'koa';
import { MAX_BODY_BYTES, objectOf, readBody } from '../../src/api/body.ts';

const padding = 'x'.repeat(500);
const router = new Router();
router.post('/v1/pix-in', readBody(MAX_BODY_BYTES), (ctx) => {
  const body = objectOf(ctx);
  ctx.status = 201;
  ctx.body = { ...body, padding };
});
router.get('/v1/pix-in', (ctx) => {
  ctx.body = { id: ctx.query.id, padding };
});
router.get('/livez', (ctx) => {
  ctx.body = {};
});
const app = new Koa();
app.use(router.routes());
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
