/** Everything that speaks to one bank, put together from its settings. */

import { Hooks } from './callbacks/hooks.ts';
import { Charges } from './charges.ts';
import { Payments } from './payments.ts';
import type { Profile, ProfileName } from './profile.ts';
import { efi } from './profiles/efi.ts';
import { inter } from './profiles/inter.ts';
import { standard } from './profiles/standard.ts';
import { Sendings } from './sendings.ts';
import type { BankSettings } from './settings.ts';
import { Breaker } from './wire/breaker.ts';
import { BankClient, type CallEnded } from './wire/client.ts';
import { Line, type Wire } from './wire/exchange.ts';
import { Places } from './wire/places.ts';
import { Tokens } from './wire/token.ts';

const PROFILES: Record<ProfileName, Profile> = { standard, efi, inter };
/** Tokens have connections of their own: they never wait behind slow calls. */
const TOKENS_AT_ONCE = 2;

/** Gives the way to a host, for so many exchanges at once. */
export type OpenWire = (origin: string, atOnce: number) => Wire;

/** Which bank, and how it is reached: over mutual TLS, or over a way that is given. */
export type ConnectionSettings = Pick<
  BankSettings,
  'profile' | 'url' | 'tokenUrl' | 'credentials' | 'retryScale'
> &
  (Pick<BankSettings, 'identity' | 'ca'> | { openWire: OpenWire });

export interface ConnectionOptions {
  /** The wall clock, ms. */
  now(): number;
  /** A clock that never steps, ms: the process's own where none is given. */
  elapsed?(): number;
  onCall?(ended: CallEnded): void;
}

function wireOf(settings: ConnectionSettings): OpenWire {
  if ('openWire' in settings) return settings.openWire;
  const { identity, ca } = settings;
  return (origin, atOnce) => new Line({ origin, identity, ca, atOnce });
}

/** A bank. Nothing is connected before the first call. */
export class BankConnection {
  readonly profile: Profile;
  readonly client: BankClient;
  readonly charges: Charges;
  readonly payments: Payments;
  readonly hooks: Hooks;
  /** Of questions about charges: where thousands expire together, half of the connections are left to those who wait for an answer. */
  readonly questions: Places;
  /** Null where the bank doesn't send. */
  readonly sendings: Sendings | null;
  /** Transfers, returns and lists have connections of their own: no charge waits behind them. */
  readonly #others: BankClient;
  readonly #tokenLine: Wire;
  readonly #listeners: ((ended: CallEnded) => void)[] = [];

  constructor(settings: ConnectionSettings, options: ConnectionOptions) {
    const profile = PROFILES[settings.profile];
    const { now, elapsed = () => performance.now(), onCall } = options;
    if (onCall !== undefined) this.#listeners.push(onCall);
    const base = new URL(settings.url);
    const tokenUrl = new URL(settings.tokenUrl ?? `${settings.url}${profile.tokenPath ?? ''}`);
    const openWire = wireOf(settings);
    this.#tokenLine = openWire(tokenUrl.origin, TOKENS_AT_ONCE);
    const request = profile.tokenRequest(settings.credentials);
    const path = tokenUrl.pathname + tokenUrl.search;
    const breaker = new Breaker(settings.retryScale, elapsed);
    const tokens = new Tokens({ line: this.#tokenLine, breaker, path, request, now, elapsed });
    this.profile = profile;
    const ended = (call: CallEnded): void => {
      for (const listener of this.#listeners) listener(call);
    };
    const clientOf = (): BankClient =>
      new BankClient({
        line: openWire(base.origin, profile.callsAtOnce),
        ...{ tokens, breaker, now, elapsed, onCall: ended },
      });
    this.client = clientOf();
    this.questions = new Places(Math.ceil(profile.callsAtOnce / 2));
    this.#others = clientOf();
    const basePath = base.pathname.replace(/\/+$/, '');
    const apiPath = basePath + profile.apiPath;
    this.charges = new Charges(this.client, apiPath);
    this.payments = new Payments(this.#others, apiPath);
    this.hooks = new Hooks(this.#others, apiPath, profile);
    this.sendings = profile.sending === null ? null : new Sendings(this.#others, profile.sending, basePath);
  }

  /** Tells of each call that has ended. */
  onCall(listener: (ended: CallEnded) => void): void {
    this.#listeners.push(listener);
  }

  /** Ends all connections; what is under way is unknown then. */
  async close(): Promise<void> {
    await Promise.all([this.client.close(), this.#others.close(), this.#tokenLine.close()]);
  }
}
