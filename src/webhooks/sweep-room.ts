/** Room for what sweeps claim: so much of all that what is fresh keeps its own beside a backlog. */
import type { Room } from '../engine/claims/room.ts';

/** The most that sweeps have claimed and nobody has looked at. */
const MAX_UNREAD = 1_000;

export class SweepRoom implements Pick<Room, 'reserveUpTo' | 'release'> {
  readonly #room: Room;
  #unread = 0;

  /** `room` is for what is fresh as well. */
  constructor(room: Room) {
    this.#room = room;
  }

  reserveUpTo(count: number): number {
    return this.#room.reserveUpTo(Math.min(count, Math.max(0, MAX_UNREAD - this.#unread)));
  }

  release(count: number): void {
    this.#room.release(count);
  }

  /** So many that were claimed are looked at by the work. */
  async read(count: number, work: () => Promise<void>): Promise<void> {
    this.#unread += count;
    try {
      await work();
    } finally {
      this.#unread -= count;
    }
  }
}
