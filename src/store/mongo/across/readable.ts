/** Batches as they are read for those who look at all accounts. */
import type { Batch } from '../../../engine/journal.ts';
import { batchFromDocument, type JournalDocument } from '../documents.ts';

/** Null where the document is no batch: one that can't be read keeps none of the others from being seen. */
export function readableBatch(document: JournalDocument): Batch | null {
  try {
    return batchFromDocument(document);
  } catch {
    return null;
  }
}
