/**
 * Moves what is due: timers, bank orders, deliveries, and what is parked. The port lists it only by claiming,
 * so all of the source is claimed, what belongs to others is kept in hand (about half a KiB each) and put back.
 *
 * A thing is put into the target before it is taken off the source: a run that dies in between leaves it in
 * both, and the next one may put it there a second time (MongoDB keeps timers and deliveries once, bank orders
 * twice). That changes nothing: what is due is a hint, and whoever takes it reads again the state that it acts on.
 */

import { type Claim, DUE_KINDS } from '../engine/store/due.ts';
import type { Settlement, Store } from '../engine/store.ts';
import { chunks, type Stores } from './stores.ts';

/** The last time that a date can have, in ms. */
const END_OF_TIME = 8.64e15;
/** Each claim looks over all that is in hand: few large ones. */
const CLAIMS = 20_000;
const SETTLEMENTS = 500;

async function settle(store: Store, settlements: Settlement[]): Promise<void> {
  for (const part of chunks(settlements, SETTLEMENTS)) {
    const settled = await store.due.settle(part);
    if (settled.includes(false))
      throw new Error('another process has taken over what was claimed to be moved');
  }
}

/** Claims on the source's due things, until these are moved or put back. */
class Hand {
  readonly #stores: Stores;
  readonly #moves: (account: string) => boolean;
  readonly #others = new Set<Claim>();

  constructor(stores: Stores, moves: (account: string) => boolean) {
    this.#stores = stores;
    this.#moves = moves;
  }

  /** Claims all that there is and moves what is to be moved; the others' stays in hand. */
  async claimAll(): Promise<void> {
    const { source, target } = this.#stores;
    for (const kind of DUE_KINDS) {
      for (;;) {
        const claims = await source.due.claim(kind, END_OF_TIME, CLAIMS);
        if (claims.length === 0) break;
        for (const claim of claims) this.#others.add(claim);
        const own = claims.filter(({ due }) => this.#moves(due.account));
        await settle(
          target,
          own.map(({ due }) => ({ claim: null, next: due })),
        );
        await settle(
          source,
          own.map((claim) => ({ claim, next: null })),
        );
        for (const claim of own) this.#others.delete(claim);
      }
    }
  }

  async putBack(): Promise<void> {
    const claims = [...this.#others];
    this.#others.clear();
    await settle(
      this.#stores.source,
      claims.map((claim) => ({ claim, next: claim.due })),
    );
  }

  /** As `putBack`, for what was parked. */
  async park(): Promise<void> {
    const claims = [...this.#others];
    this.#others.clear();
    for (const part of chunks(claims, SETTLEMENTS)) await this.#stores.source.due.park(part);
  }
}

const TARGETS = 100;

/** What waits behind URLs that hang is due like all else: the target finds out by itself whether they still do. */
async function moveBacklog(
  { source, target }: Stores,
  moves: (account: string) => boolean,
  now: number,
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await source.backlog.targets(after, TARGETS);
    for (const one of page.filter(({ account }) => moves(account))) {
      for (;;) {
        const { claims } = await source.backlog.take(one, now, SETTLEMENTS);
        if (claims.length === 0) break;
        await settle(
          target,
          claims.map(({ due }) => ({ claim: null, next: due })),
        );
        await settle(
          source,
          claims.map((claim) => ({ claim, next: null })),
        );
      }
    }
    if (page.length < TARGETS) return;
    after = page.at(-1)?.id ?? '';
  }
}

/** Moves what is due of these accounts; what was parked is due in the target at once. */
export async function moveDue(
  stores: Stores,
  moves: (account: string) => boolean,
  now: number,
): Promise<void> {
  await moveBacklog(stores, moves, now);
  const due = new Hand(stores, moves);
  try {
    await due.claimAll();
    // All else is in hand, so what can be claimed after this had been parked.
    const parked = new Hand(stores, moves);
    if ((await stores.source.due.unpark(now)) === 0) return;
    try {
      await parked.claimAll();
    } finally {
      await parked.park();
    }
  } finally {
    await due.putBack();
  }
}
