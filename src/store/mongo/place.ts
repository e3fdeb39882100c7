/** What is due in documents, where it lies there, and the tokens that tell it. */
import type { Claim, Due } from '../../engine/store.ts';
import { fromBson } from './bson.ts';
import type { DeliveryDocument, Held, OrderElement, TimerElement, TransactionDocument } from './documents.ts';

/** Where a claimed thing lies. */
export interface Place {
  kind: Due['kind'];
  /** The document: a transaction, or a delivery. */
  document: string;
  account: string;
  /** The element of the transaction's array; empty for a delivery. */
  element: string;
  token: string;
}

export function tokenOf({ kind, document, element, token }: Place): string {
  return [kind, document, element, token].join('|');
}

export function placeOf({ due, token }: Claim): Place {
  const [kind = '', document = '', element = '', own = ''] = token.split('|');
  return { kind: kind as Due['kind'], document, account: due.account, element, token: own };
}

/** A due thing as it was found. */
export type Found = { due: Due; id: string; document: string; owner: string | null };

function isFree(held: Held, owners: readonly (string | null)[]): boolean {
  return owners.includes(held.owner ?? null);
}

function triesOf({ tries = 0 }: { tries?: number }): number {
  return tries;
}

/** What is due in a transaction's document. */
export function dueIn(
  kind: 'timer' | 'bank',
  document: TransactionDocument,
  owners: readonly (string | null)[],
  until: number,
): Found[] {
  const { _id: transaction, account } = document;
  const found: Found[] = [];
  const elements: (TimerElement | OrderElement)[] =
    kind === 'timer' ? document.timers : (document.orders ?? []);
  for (const element of elements) {
    const { id, due } = element;
    if (id === undefined || due === undefined || due.getTime() > until || !isFree(element, owners)) continue;
    const common = { at: due.getTime(), account, transaction, tries: triesOf(element) };
    const what: Due =
      'order' in element
        ? { ...common, kind: 'bank', order: fromBson(element.order) as OrderElement['order'] }
        : { ...common, kind: 'timer', name: element.name };
    found.push({ due: what, id, document: transaction, owner: element.owner ?? null });
  }
  return found;
}

export function dueOfDelivery(document: DeliveryDocument): Found {
  const { _id, account, transaction, due, owner = null } = document;
  const at = due?.getTime() ?? 0;
  return {
    due: { kind: 'delivery', at, account, transaction, delivery: _id, tries: triesOf(document) },
    id: '',
    document: _id,
    owner,
  };
}
