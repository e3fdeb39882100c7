/** Folders that this process may be asked to give up while it still opens the stores in them. */

const signals = new Map<string, AbortSignal>();

/**
 * Opens what is in a folder, unless the signal says that the folder is to be given up: long work looks at it.
 * @throws the signal's reason, whatever else was wrong by then
 */
export async function openUnlessGivenUp<Opened>(
  folder: string,
  signal: AbortSignal,
  open: () => Promise<Opened>,
): Promise<Opened> {
  signals.set(folder, signal);
  try {
    return await open();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signals.delete(folder);
  }
}

/** Says that the folder is to be given up; null where nobody may ask for that. */
export function givingUp(folder: string): AbortSignal | null {
  return signals.get(folder) ?? null;
}
