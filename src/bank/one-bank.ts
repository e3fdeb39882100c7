/** One store, one bank: the store's first start writes down whose money its journal counts. */
import { BANK_MARK } from '../engine/bank.ts';
import { accountsIn } from '../engine/store/walks.ts';
import type { Store } from '../engine/store.ts';
import { OperatorError } from '../errors.ts';
import type { BankChoice } from './open.ts';

/** Words that name a bank and our contract there: `sandbox`, or `api-pix`, the profile and the client id. */
function noteOf({ bank, bankSettings }: BankChoice): string {
  if (bankSettings === null) return bank;
  return `${bank} ${bankSettings.profile} ${bankSettings.credentials.clientId}`;
}

function shown(note: string): string {
  const [bank, profile, ...clientId] = note.split(' ');
  return profile === undefined
    ? `BANK=${bank}`
    : `BANK=${bank} with ${profile} and client id ${clientId.join(' ')}`;
}

/** Whether any account has an entry. */
async function hasEntries({ journal }: Pick<Store, 'journal'>): Promise<boolean> {
  for await (const id of accountsIn(journal)) if ((await journal.head(id)).seq > 0) return true;
  return false;
}

/** Resolves where the store isn't known to be another bank's. @throws OperatorError */
export async function expectNotAnothers(config: BankChoice, { marks }: Pick<Store, 'marks'>): Promise<void> {
  const own = noteOf(config);
  const kept = await marks.mark(BANK_MARK);
  if (kept === null || kept === own) return;
  throw new OperatorError(
    `the store was begun with ${shown(kept)}, and this is ${shown(own)}: one store, one bank`,
  );
}

/**
 * Resolves where the store is this bank's; a store that is nobody's yet is from now on.
 * @throws OperatorError where it is another's
 */
export async function expectOwnBank(
  config: BankChoice,
  store: Pick<Store, 'journal' | 'marks'>,
): Promise<void> {
  const own = noteOf(config);
  if ((await store.marks.mark(BANK_MARK)) === null) {
    if (config.bank !== 'sandbox' && (await hasEntries(store)))
      throw new OperatorError(
        "the store holds the sandbox's play money: a real bank needs a store of its own (DATA_DIR, MONGODB_URI)",
      );
    // Of two that start at once the first one's stays.
    await store.marks.keepMark(BANK_MARK, own);
  }
  await expectNotAnothers(config, store);
}
