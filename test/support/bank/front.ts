/**
 * What the bank for tests answers to an authentic customer's request, however it came: tokens, scopes, routes, and what
 * the handlers do. It obeys the central bank's document, and refuses whatever doesn't.
 */
import type { ProfileName } from '../../../src/bank/api-pix/profile.ts';
import { jsonOf, objectOf } from '../../../src/bank/api-pix/reading.ts';
import {
  type Asked,
  type BankOptions,
  type Bench,
  EFI_ROUTES,
  INTER_ROUTES,
  inWordsOfEfi,
  problem,
  type Reply,
  type Route,
  STANDARD_ROUTES,
} from './handlers.ts';
import { BankState } from './state.ts';

/** A request as it came in. */
export interface Arrived {
  method: string;
  /** Path and query. */
  target: string;
  headers: Asked['headers'];
  body: string;
}

export interface FrontOptions extends Partial<Omit<BankOptions, 'keys'>>, Pick<BankOptions, 'keys'> {
  profile?: ProfileName;
  /** A token's life, s. */
  tokenLifeS?: number;
  /** The bank's clock, ms since 1970. */
  now?(): number;
}

const PREFIX: Record<ProfileName, string> = { standard: '/api/v2', efi: '/v2', inter: '/pix/v2' };
const TOKEN_PATH: Record<ProfileName, string> = {
  ...{ standard: '/auth/token', efi: '/oauth/token', inter: '/oauth/v2/token' },
};
const OWN_ROUTES: Record<ProfileName, readonly Route[]> = {
  ...{ standard: [], efi: EFI_ROUTES, inter: INTER_ROUTES },
};
const ALL_SCOPES = 'cob.write cob.read pix.write pix.read webhook.write webhook.read';
const OWN_SCOPES: Record<ProfileName, string> = {
  ...{ standard: '', efi: ' pix.send gn.pix.send.read', inter: ' pagamento-pix.write pagamento-pix.read' },
};

function parsed({ target }: Pick<Arrived, 'target'>): URL {
  return new URL(target, 'https://bank.example');
}

export class Front {
  readonly clientId = 'Client_Id_5f';
  readonly clientSecret = 'Client_Secret_%+/=';
  readonly state = new BankState();
  readonly violations: Bench['violations'] = [];
  readonly profile: ProfileName;
  /** What a token is good for. */
  scopes: string;
  tokenLifeS: number;
  tokensGiven = 0;
  readonly options: BankOptions;
  readonly #now: () => number;
  readonly #tokens = new Set<string>();

  constructor(options: FrontOptions) {
    this.profile = options.profile ?? 'standard';
    this.tokenLifeS = options.tokenLifeS ?? 3600;
    this.scopes = ALL_SCOPES + OWN_SCOPES[this.profile];
    this.#now = options.now ?? Date.now;
    this.options = {
      keys: options.keys,
      copyAndPaste: options.copyAndPaste ?? true,
      refusesSecondPut: options.refusesSecondPut ?? this.profile === 'efi',
      refusesPlus: options.refusesPlus ?? this.profile === 'inter',
    };
  }

  /** Where the API begins, behind the bank's base. */
  get prefix(): string {
    return PREFIX[this.profile];
  }

  get tokenPath(): string {
    return TOKEN_PATH[this.profile];
  }

  /** All tokens given so far are dead. */
  killTokens(): void {
    this.#tokens.clear();
  }

  /** Which call a request is: `PUT cob` for one, `token`, or `unknown`. */
  callOf(arrived: Pick<Arrived, 'method' | 'target'>): string {
    if (parsed(arrived).pathname === this.tokenPath) return 'token';
    return this.#routeOf(arrived)?.route.name ?? 'unknown';
  }

  /** Does what is asked for; what it has done stays hidden from questions for `hideMs`. */
  reply(arrived: Arrived, hideMs = 0): Reply {
    if (this.callOf(arrived) === 'token') return this.#token(arrived);
    const { headers, body: raw } = arrived;
    const token = /^Bearer (\S+)$/.exec(String(headers.authorization))?.[1];
    if (token === undefined || !this.#tokens.has(token))
      return { status: 401, body: { title: 'Unauthorized' } };
    const found = this.#routeOf(arrived);
    if (found === null) return { status: 404, body: { message: 'no Route matched with those values' } };
    const { route, ids } = found;
    if (!this.scopes.split(' ').includes(route.scope)) return problem(403, 'AcessoNegado');
    const { state, options, violations } = this;
    const bench = { state, options, hideMs, violations, now: this.#now };
    if (raw !== '' && !/^application\/json/.test(String(headers['content-type'])))
      return problem(415, 'RequisicaoInvalida');
    const body = raw === '' ? {} : objectOf(jsonOf(raw));
    if (body === null) return problem(400, 'RequisicaoInvalida');
    const reply = route.handle(bench, { ids, query: parsed(arrived).searchParams, body, raw, headers });
    return this.profile === 'efi' ? inWordsOfEfi(reply) : reply;
  }

  #routeOf(arrived: Pick<Arrived, 'method' | 'target'>): { route: Route; ids: string[] } | null {
    const { pathname } = parsed(arrived);
    const standard = pathname.startsWith(this.prefix) ? pathname.slice(this.prefix.length) : '';
    for (const [routes, path] of [
      [OWN_ROUTES[this.profile], pathname],
      [STANDARD_ROUTES, standard],
    ] as const) {
      for (const route of routes) {
        const match = route.method === arrived.method ? route.path.exec(path) : null;
        if (match !== null) return { route, ids: match.slice(1).map(decodeURIComponent) };
      }
    }
    return null;
  }

  #token({ headers, body }: Arrived): Reply {
    const isForm = /^application\/x-www-form-urlencoded/.test(String(headers['content-type']));
    const form = new URLSearchParams(isForm ? body : '');
    const json = isForm ? null : objectOf(jsonOf(body));
    const basic = Buffer.from(`${this.clientId}:${this.clientSecret}`).toString('base64');
    const isKnown =
      this.profile === 'inter'
        ? form.get('client_id') === this.clientId && form.get('client_secret') === this.clientSecret
        : headers.authorization === `Basic ${basic}`;
    if (!isKnown) return { status: 401, body: { error: 'invalid_client', error_description: 'unknown' } };
    const grant = form.get('grant_type') ?? json?.grant_type;
    if (grant !== 'client_credentials') return { status: 400, body: { error: 'unsupported_grant_type' } };
    this.tokensGiven += 1;
    const text = `token-${this.tokensGiven}`;
    this.#tokens.add(text);
    return {
      status: 200,
      body: { access_token: text, token_type: 'Bearer', expires_in: this.tokenLifeS, scope: this.scopes },
    };
  }
}
