/** Registers where the bank calls back, for each key: asked first, and set only where it differs. */
import { keyOf } from '../../../domain/account.ts';
import { pagesOfAccounts } from '../../../engine/store/walks.ts';
import type { AccountTable } from '../../../engine/store.ts';
import { textOf } from '../../../errors.ts';
import type { BankConnection } from '../connection.ts';
import type { Notes } from '../notes.ts';
import { CallFailed } from '../wire/outcome.ts';

export interface RegistrarOptions {
  connection: Pick<BankConnection, 'hooks'>;
  accounts: Pick<AccountTable, 'after'>;
  /** The key of accounts without one of their own. */
  pixKey: string | null;
  /** Null: nothing is registered. */
  webhookUrl: string | null;
  notes: Pick<Notes, 'keyTaken' | 'keyRefused' | 'webhookTaken' | 'webhookRefused'>;
}

/** What a failure to register is about: the URL that the bank reaches nobody at, the key, which isn't ours, or neither. */
function isAbout({ kind, status, violated, bankName }: CallFailed): 'url' | 'key' | null {
  const namesUrl = violated.some((field) => /webhookUrl$/i.test(field)) || /^webhook_/i.test(bankName ?? '');
  if (kind === 'refused') return namesUrl ? 'url' : 'key';
  return status === 403 || status === 404 ? 'key' : null;
}

export class Registrar {
  readonly #options: RegistrarOptions;
  /** Keys that are known to be as they should. */
  readonly #done = new Set<string>();

  constructor(options: RegistrarOptions) {
    this.#options = options;
  }

  /** One that fails is tried again in the next turn. @throws the first failure, once all were tried */
  async run(): Promise<void> {
    const { webhookUrl, notes } = this.#options;
    if (webhookUrl === null) return;
    const failures: unknown[] = [];
    for (const key of await this.#keys()) {
      if (this.#done.has(key)) continue;
      try {
        await this.#register(key, webhookUrl);
        this.#done.add(key);
        notes.keyTaken(key);
        notes.webhookTaken();
      } catch (error) {
        const about = error instanceof CallFailed ? isAbout(error) : null;
        const message = textOf(error);
        if (about === 'key') notes.keyRefused(key, message);
        if (about === 'url') notes.webhookRefused(webhookUrl, message);
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** The keys that receive. */
  async #keys(): Promise<string[]> {
    const { accounts, pixKey } = this.#options;
    const keys = new Set(pixKey === null ? [] : [pixKey]);
    for await (const page of pagesOfAccounts(accounts))
      for (const own of page.map(keyOf)) if (own.isOwn) keys.add(own.pixKey);
    return [...keys];
  }

  async #register(key: string, webhookUrl: string): Promise<void> {
    const { hooks } = this.#options.connection;
    if ((await hooks.registered(key)) !== webhookUrl) await hooks.register(key, webhookUrl);
  }
}
