/** The accounts that all of it happens to. */
import type { Account } from '../../src/domain/account.ts';
import { DEMO_FEES } from '../../src/domain/fees.ts';
import { SEALER } from './process.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** URLs that hang now and then; each is in one account. */
export const MAY_HANG = ['https://all.example', 'https://some.example'] as const;

function account(digit: string, urls: Record<string, string[] | null>): Account {
  const secrets = [{ sealed: SEALER.seal(SECRET), until: null }];
  return {
    id: '11111111-1111-4111-8111-111111111111'.replaceAll('1', digit),
    version: 1,
    name: 'Simulated',
    clientId: `client_simulated_${digit}`,
    secretHash: '',
    status: 'active',
    userStatus: 'active',
    allowedIps: ['*'],
    webhooks: Object.entries(urls).map(([url, events]) => ({ url, events, secrets })),
    fees: DEMO_FEES,
    expiresIn: null,
    maxAmount: null,
    pixKey: 'loja@example.com',
    merchantName: 'LOJA',
    merchantCity: 'SAO PAULO',
    createdAt: '2026-01-05T12:00:00.000Z',
  };
}

/** The one that most happens to, and whose URLs may hang. */
export const ACCOUNT = account('1', { [MAY_HANG[0]]: null, [MAY_HANG[1]]: ['pix-in.paid', 'cashout.*'] });

/** Another one, whose URLs always answer sooner or later; one of them hears of parts. */
export const NEIGHBOUR = account('2', {
  'https://neighbour.example': null,
  'https://parts.example': ['refund.*', 'chargeback.booked', 'return.booked'],
});
