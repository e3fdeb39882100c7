/** The requests that rows are made of, as text that any generator can send. */

/** A whole request in two parts, between which a number goes; in one part it is the same each time. */
export type RequestText = readonly [before: string, after?: string];

/** Digits of the number: what a run begins with, and the request's own. */
export const SERIES_DIGITS = 8;
export const COUNT_DIGITS = 9;
const DIGITS = SERIES_DIGITS + COUNT_DIGITS;

/** Cents: their last two digits choose the sandbox's scenario. */
export const WAITS = { 'pix-in': 1000, cashout: 1007 } as const;
export const ENDS_WELL = 1001;

export type Kind = 'pix-in' | 'cashout';

function basic(credentials: string): string {
  return `Authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n`;
}

/** A POST of JSON whose body has the number in it. */
function post(path: string, headers: string, before: string, after: string): RequestText {
  const length = before.length + DIGITS + after.length;
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Type: application/json\r\n`;
  return [`${head}Content-Length: ${length}\r\n\r\n${before}`, after];
}

const TRANSFER_BODY = { pix: { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' } };

/** Creations, one for each of the credentials (`clientId:clientSecret`). */
export function creations(kind: Kind, credentials: readonly string[], amount: number): RequestText[] {
  const path = `/v1/${kind}`;
  return credentials.map((each) => {
    if (kind === 'pix-in') return post(path, basic(each), `{"amount":${amount},"externalRef":"order-`, '"}');
    const rest = JSON.stringify(TRANSFER_BODY).slice(1);
    return post(path, basic(each), `{"amount":${amount},"idempotencyKey":"key-`, `",${rest}`);
  });
}

/** The same transfers, as the service on PostgreSQL takes them. */
export function sqlTransfers(accounts: readonly string[]): RequestText[] {
  const body = JSON.stringify({ amount: WAITS.cashout, ...TRANSFER_BODY });
  return accounts.map((account) => [
    `POST /account/${account}/cashout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\nIdempotency-Key: key-`,
    `\r\n\r\n${body}`,
  ]);
}

/** A GET of what an account asks for. */
export function read(path: string, credentials: string): RequestText {
  return [`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${basic(credentials)}\r\n`];
}
