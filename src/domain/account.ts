/** A merchant's account: its settings. What happens to its money is in its journal. */
import type { FeePolicy } from './fees.ts';

/** A webhook secret, sealed under SECRETS_KEY. `until`: it signs no longer after this time (ISO 8601). */
export interface SealedSecret {
  sealed: string;
  until: string | null;
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
  pixKey: string;
  merchantName: string;
  merchantCity: string;
  createdAt: string;
}
