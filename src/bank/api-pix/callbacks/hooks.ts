/** Where the bank calls back for a key (`/webhook`): one URL a key. */

import { JSON_TYPE, type Profile } from '../profile.ts';
import { textIn } from '../reading.ts';
import type { BankClient } from '../wire/client.ts';

const DEADLINE_MS = 8_000;
/** Banks test the URL while they set it, which takes its time. */
const PUT_MS = 30_000;

/** Another 404, of the key itself for one, says that the key isn't ours. */
function namesWebhook(name: string): boolean {
  return /webhook/i.test(name) || name === 'NaoEncontrado';
}

export class Hooks {
  readonly #client: BankClient;
  readonly #path: string;
  readonly #keyInPath: Profile['keyInPath'];

  /** `path` is the API's, before `/webhook`. */
  constructor(client: BankClient, path: string, { keyInPath }: Pick<Profile, 'keyInPath'>) {
    this.#client = client;
    this.#path = `${path}/webhook`;
    this.#keyInPath = keyInPath;
  }

  /** The URL for a key; null where none is registered. @throws CallFailed */
  async registered(key: string): Promise<string | null> {
    const request = { method: 'GET', path: this.#of(key) } as const;
    const call = { name: 'GET webhook', request, deadlineMs: DEADLINE_MS, namesMissing: namesWebhook };
    const answer = await this.#client.ask(call);
    return textIn(answer, 'webhookUrl');
  }

  /** @throws CallFailed */
  async register(key: string, webhookUrl: string): Promise<void> {
    const headers = { 'content-type': JSON_TYPE };
    const request = {
      method: 'PUT',
      path: this.#of(key),
      headers,
      body: JSON.stringify({ webhookUrl }),
    } as const;
    await this.#client.tell({ name: 'PUT webhook', request, deadlineMs: PUT_MS, mustBeThere: true });
  }

  /** False where there was none. @throws CallFailed */
  remove(key: string): Promise<boolean> {
    const request = { method: 'DELETE', path: this.#of(key) } as const;
    return this.#client.tell({ name: 'DELETE webhook', request, deadlineMs: DEADLINE_MS });
  }

  #of(key: string): string {
    return `${this.#path}/${encodeURIComponent(this.#keyInPath(key))}`;
  }
}
