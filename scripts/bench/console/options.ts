/** What a run of the console's bench is made of. */
import { parseArgs } from 'node:util';
import { nodeFlags } from '../server.ts';

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '1000000' },
    accounts: { type: 'string', default: '20000' },
    calls: { type: 'string', default: '200' },
    pairs: { type: 'string', default: '5' },
    creates: { type: 'string', default: '60000' },
    lifecycles: { type: 'string', default: '20000' },
  },
});
/** In the store, and what is asked or sent how often. */
export const [transactions, accounts, calls, pairs, creates, wholes] = [
  ...[values.transactions, values.accounts, values.calls],
  ...[values.pairs, values.creates, values.lifecycles],
].map(Number) as [number, number, number, number, number, number];

/** What `npm start` runs. */
export const entry = [...nodeFlags(), 'dist/src/main.js'];
