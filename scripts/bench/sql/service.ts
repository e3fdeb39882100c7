/**
 * The rival: what a good team would write in a week on PostgreSQL. Koa with the API's router and what reads its
 * bodies, one prepared statement a request, which calls one function; durable before the answer. It checks no
 * credentials, and has no statechart, no hash chain, no webhooks: what it leaves out is to its advantage.
 *
 * `node --import tsx service.ts HOST PORT`: of the PostgreSQL cluster; prints its own port.
 */
import { Router } from '@koa/router';
import Koa from 'koa';
import pg from 'pg';
import { bytesOf, MAX_BODY_BYTES, readBody } from '../../../src/api/body.ts';
import { jsonOf } from '../../../src/bank/api-pix/reading.ts';

const CONNECTIONS = 8;
/** Cents. */
const FEE = 5;

const [host = '127.0.0.1', port = '5432'] = process.argv.slice(2);

interface Transfer {
  id: string;
  created_at: string;
  is_new: boolean;
  amount: string;
  pix_key: string;
}

const TRANSFER = 'select * from transfer($1, $2, $3, $4, $5, $6)';

// Times stay the text that they came as: making a Date of each and a text of that again would cost more.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => text);

const pool = new pg.Pool({
  host,
  port: Number(port),
  user: 'postgres',
  database: 'bench',
  max: CONNECTIONS,
  // Connections and their prepared statements are kept, however long nobody asks.
  idleTimeoutMillis: 0,
});

interface Request {
  amount: number;
  pixKeyType: string;
  pixKey: string;
}

/** What a body asks for; null where it can't be followed. */
function requestOf(body: unknown): Request | null {
  const { amount, pix } = (body ?? {}) as {
    amount?: unknown;
    pix?: { pixKeyType?: unknown; pixKey?: unknown };
  };
  const { pixKeyType, pixKey } = pix ?? {};
  const isWhole = typeof amount === 'number' && Number.isSafeInteger(amount) && amount > 0;
  if (!isWhole || typeof pixKeyType !== 'string' || typeof pixKey !== 'string') return null;
  return { amount, pixKeyType, pixKey };
}

function isInsufficient(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === 'P0422';
}

async function answer(account: string, key: string, request: Request | null): Promise<[number, object]> {
  if (key === '' || request === null) return [400, { error: 'BAD_REQUEST' }];
  const { amount, pixKeyType, pixKey } = request;
  const values = [account, key, amount, FEE, pixKeyType, pixKey];
  try {
    const { rows } = await pool.query<Transfer>({ name: 'transfer', text: TRANSFER, values });
    const [made] = rows;
    if (made === undefined) throw new Error('the function gave no row');
    if (!made.is_new && (Number(made.amount) !== amount || made.pix_key !== pixKey))
      return [409, { error: 'IDEMPOTENCY_KEY_REUSED' }];
    const fee = { totalFee: FEE, netAmount: amount - FEE };
    const { id, created_at: createdAt } = made;
    return [
      made.is_new ? 201 : 200,
      { id, amount, status: 'pending', fee, pix: { pixKeyType, pixKey }, createdAt },
    ];
  } catch (error) {
    if (isInsufficient(error)) return [422, { error: 'INSUFFICIENT_BALANCE' }];
    throw error;
  }
}

const router = new Router();
router.post('/account/:account/cashout', readBody(MAX_BODY_BYTES), async (ctx) => {
  const key = ctx.get('idempotency-key');
  const { account = '' } = ctx.params;
  [ctx.status, ctx.body] = await answer(account, key, requestOf(jsonOf(bytesOf(ctx).toString())));
});
const app = new Koa();
app.use(router.routes());
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
