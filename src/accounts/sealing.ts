/** Webhook secrets at rest: AES-256-GCM under SECRETS_KEY, `base64(nonce | tag | ciphertext)`. */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { pagesOfAccounts } from '../engine/store/walks.ts';
import type { AccountTable, Store } from '../engine/store.ts';
import { OperatorError } from '../errors.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class Sealer {
  readonly #given: Buffer | null;

  /** Null: no key is known, so nothing can be sealed or opened. */
  constructor(key: Buffer | null) {
    this.#given = key;
  }

  get hasKey(): boolean {
    return this.#given !== null;
  }

  get #key(): Buffer {
    if (this.#given === null) throw new OperatorError('the key that seals the secrets is missing');
    return this.#given;
  }

  seal(secret: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** @throws Error where another key sealed it, or somebody changed it. */
  open(sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return (
      decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    );
  }
}

const MARK = 'secrets';
const PROBE = 'this key seals the secrets of this store';

/** A sealed secret of some account; null where none has any. */
async function anySealed(accounts: AccountTable): Promise<string | null> {
  for await (const page of pagesOfAccounts(accounts)) {
    const [secret] = page.flatMap(({ webhooks }) => webhooks.flatMap(({ secrets }) => secrets));
    if (secret !== undefined) return secret.sealed;
  }
  return null;
}

type Sealed = Pick<Store, 'accounts' | 'marks'>;

/**
 * Whether a key is the one that a store's secrets are sealed with, or the store has none. A store remembers by a text
 * that its first key sealed; of a store that has none yet, made by a former build, any account's secret tells.
 */
export async function isKeyOf(sealer: Sealer, { accounts, marks }: Sealed): Promise<boolean> {
  const sealed = (await marks.mark(MARK)) ?? (await anySealed(accounts));
  try {
    if (sealed !== null) sealer.open(sealed);
    return true;
  } catch {
    return false;
  }
}

/**
 * Sees to it that a key is the one that a store's secrets are sealed with, and stays it.
 * @throws OperatorError where it is another key: webhooks could be sent by nobody
 */
export async function checkKey(sealer: Sealer, store: Sealed): Promise<void> {
  if (!(await isKeyOf(sealer, store)))
    throw new OperatorError(
      'SECRETS_KEY is not the key that the secrets of this store were sealed with: set that one (in a data folder of its own it is the file secrets.key)',
    );
  if ((await store.marks.mark(MARK)) === null) await store.marks.keepMark(MARK, sealer.seal(PROBE));
}
