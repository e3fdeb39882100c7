/** A merchant's account: its settings. What happens to its money is in its journal. */
import type { FeePolicy } from './fees.ts';
import type { By } from './messages.ts';

/** A webhook secret, sealed under SECRETS_KEY. Times in ISO 8601. */
export interface SealedSecret {
  sealed: string;
  /** It signs no longer after this time. */
  until: string | null;
  /** When it was made; former builds kept no such time. */
  since?: string;
}

export interface Webhook {
  url: string;
  /** Event names, `pix-in.*` allowed; null: all events. */
  events: string[] | null;
  /** The newest first. */
  secrets: SealedSecret[];
}

export type Activity = 'active' | 'inactive';

export interface Account {
  id: string;
  /** Counts changes: a write replaces the version before it. */
  version: number;
  name: string;
  clientId: string;
  /** SHA-256 of the client secret, hex. */
  secretHash: string;
  /** When the client secret was made (ISO 8601); former builds kept no such time. */
  secretSince?: string;
  status: Activity;
  userStatus: Activity;
  /** IPv4 addresses or `*`. */
  allowedIps: string[];
  webhooks: Webhook[];
  fees: FeePolicy;
  /** Seconds until a charge expires; null: the server's default. */
  expiresIn: number | null;
  /** Cents; null: the contract's maximum. */
  maxAmount: number | null;
  /** Made of its id where nobody has given one; former builds made up a random one. */
  pixKey: string;
  /** The key was given; absent where it wasn't, and in what former builds stored. */
  ownPixKey?: true;
  merchantName: string;
  merchantCity: string;
  createdAt: string;
  /** Who of ops made it; absent in the demo account, and in what former builds stored. */
  createdBy?: By;
  /** Another store has it: nothing is decided or done for it here any more. Absent where none has, and after former builds. */
  handedOver?: true;
  /** Ids of ops' last changes, the newest last: one that comes again changes nothing. Absent where there were none. */
  lastChanges?: string[];
}

const RANDOM_KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** An account's key, and whether somebody has given it: what a real bank is told. */
export function keyOf({ pixKey, ownPixKey }: Account): { pixKey: string; isOwn: boolean } {
  return { pixKey, isOwn: ownPixKey === true || !RANDOM_KEY.test(pixKey) };
}
