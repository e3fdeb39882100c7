/** Any bank by the central bank's document alone: charges, payments, returns. It has no sending. */
import { API_PIX_SCOPES, basic, FORM, type Profile } from '../profile.ts';

/** Two hundred charges at once take two rounds. */
const CALLS_AT_ONCE = 100;

export const standard: Profile = {
  name: 'standard',
  apiPath: '',
  tokenPath: null,
  scopes: API_PIX_SCOPES,
  tokenRequest: (credentials) => ({
    headers: { authorization: basic(credentials), 'content-type': FORM },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: API_PIX_SCOPES.join(' '),
    }).toString(),
  }),
  keyInPath: (key) => key,
  callsAtOnce: CALLS_AT_ONCE,
  sending: null,
  hints: () => [],
};
