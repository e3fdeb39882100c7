/**
 * What the accounts' settings were, and when: which URLs an event may go to, and which secrets may sign, is held against
 * that. What is sent to the URLs is looked at here, too.
 */
import type { Account, Webhook } from '../../src/domain/account.ts';
import type { Send } from '../../src/webhooks/sender/port.ts';
import { SEALER } from './process.ts';
import type { World } from './world.ts';

/**
 * A process goes by settings that it has just read, and what it does by them may take its time: the simulated time
 * passes in leaps, while nothing else happens.
 */
const STALE_MS = 200_000;

interface Version {
  /** By the world's time, ms. */
  from: number;
  account: Account;
}

export class SettingsHistory {
  /** What was sent to where, or signed by what, the account had no more. */
  readonly wrongs: string[] = [];
  readonly #world: World;
  /** What each event was told as. */
  readonly #bodies = new Map<string, string>();
  readonly #versions = new Map<string, Version[]>();

  constructor(world: World) {
    this.#world = world;
  }

  changed(account: Account): void {
    const versions = this.#versions.get(account.id) ?? [];
    this.#versions.set(account.id, versions);
    versions.push({ from: this.#world.now, account });
  }

  /** The URLs that an account had at first. */
  first(id: string): Webhook[] {
    return this.#versions.get(id)?.[0]?.account.webhooks ?? [];
  }

  /** Whether a URL was off an account at some time. */
  wasOff(id: string, url: string): boolean {
    const versions = this.#versions.get(id) ?? [];
    return versions.some(({ account }) => !account.webhooks.some((webhook) => webhook.url === url));
  }

  /** The settings that whoever decided at that time may have gone by. */
  around(id: string, at: number): Account[] {
    const versions = this.#versions.get(id) ?? [];
    const isMeant = ({ from }: Version, index: number): boolean =>
      from <= at && (versions[index + 1]?.from ?? at) >= at - STALE_MS;
    return versions.filter(isMeant).map(({ account }) => account);
  }

  /** How many versions of an account were made by an action of ops. */
  madeBy(id: string, action: string): number {
    const made = (this.#versions.get(id) ?? []).map(({ account }) => account.lastChanges?.at(-1) === action);
    return made.filter((isMade, index) => isMade && made[index - 1] !== true).length;
  }

  /** An attempt begins. A retry, and what another URL gets of the event, is the same byte for byte. */
  judge({ account: id, url, secrets, eventId, body }: Send): void {
    const told = this.#bodies.get(eventId) ?? body;
    this.#bodies.set(eventId, told);
    if (told !== body) this.wrongs.push(`${eventId} was told as ${told}, then as ${body}`);
    const webhooks = this.around(id, this.#world.now).flatMap(({ webhooks: all }) => all);
    const newest = (webhook: Webhook): string => SEALER.open(webhook.secrets[0]?.sealed ?? '');
    const known = webhooks.filter((webhook) => webhook.url === url);
    if (known.length === 0) this.wrongs.push(`${url} was taken off ${id}, and got something`);
    else if (!known.some((webhook) => newest(webhook) === secrets[0]))
      this.wrongs.push(`what ${url} got was signed with another secret`);
  }
}
