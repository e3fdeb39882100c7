/** The six families of states: what a state means to whoever looks, in both of the console's sides. */

export const FAMILIES = ['open', 'good', 'care', 'bad', 'back', 'ended'] as const;

export type Family = (typeof FAMILIES)[number];

const OF_STATUS: Readonly<Record<string, Family>> = {
  waiting_payment: 'open',
  pending: 'open',
  processing: 'open',
  in_analysis: 'care',
  in_protest: 'care',
  paid: 'good',
  completed: 'good',
  refused: 'bad',
  failed: 'bad',
  rejected: 'bad',
  refunded: 'back',
  chargedback: 'back',
  expired: 'ended',
  canceled: 'ended',
  cancelled: 'ended',
};

/** A state that this console doesn't know yet is shown by its id, as one that ended. */
export function familyOf(status: string): Family {
  return OF_STATUS[status] ?? 'ended';
}

/** The states of transactions by family, in the families' order. */
export function statusesByFamily(): [Family, string[]][] {
  return FAMILIES.map((family) => [
    family,
    Object.keys(OF_STATUS).filter((status) => OF_STATUS[status] === family),
  ]);
}
