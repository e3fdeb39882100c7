/** The fake bank's callbacks: POST {webhookUrl}/pix with a client certificate of the bank's. */
import { request } from 'node:https';
import type { Pair } from './certificates.ts';
import type { Fields } from './requests.ts';

export interface Callback {
  /** As it was registered. */
  webhookUrl: string;
  elements: readonly Fields[];
  /** The bank's certificate for callbacks. */
  client: Pair;
  /** The array of the elements alone, as Inter posts them. */
  isBare?: boolean;
}

/** Calls back once; the answer's status, 0 where there is none. Whether and how often it is done again is the test's. */
export function callBack({ webhookUrl, elements, client, isBare = false }: Callback): Promise<number> {
  const { cert, key } = client;
  return new Promise((resolve) => {
    const options = { method: 'POST', cert, key, agent: false, rejectUnauthorized: false } as const;
    const sent = request(`${webhookUrl}/pix`, options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', () => resolve(0));
    sent.setHeader('content-type', 'application/json');
    sent.end(JSON.stringify(isBare ? elements : { pix: elements }));
  });
}
