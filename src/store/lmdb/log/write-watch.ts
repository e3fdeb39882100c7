/**
 * Knows of every write that is under way. A write may wait for long (another process can be frozen inside a
 * transaction), and its caller must not wait with it: the write goes on, the caller is told.
 */
import { StoreUnavailable } from '../../../engine/store.ts';
import { Numbered } from '../../../passing.ts';
import { within } from '../../../waiting.ts';

const WRITE_TIMEOUT_MS = 5_000;

function waited(): StoreUnavailable {
  return new StoreUnavailable('a write has waited too long; it may still take effect');
}

export class WriteWatch {
  /** When each began, ms. */
  readonly #underWay = new Numbered<number>();

  /** Knows of a write until its end; its caller waits for its real outcome. */
  follow<Result>(write: Promise<Result>): Promise<Result> {
    const entry = this.#underWay.put(performance.now());
    const end = (): void => {
      this.#underWay.take(entry);
    };
    write.then(end, end);
    return write;
  }

  /** As `follow`, but after 5 s the caller gets StoreUnavailable; a result that comes later reaches nobody. */
  bound<Result>(write: Promise<Result>): Promise<Result> {
    return within(WRITE_TIMEOUT_MS, this.follow(write), waited);
  }

  /** @throws StoreUnavailable while a write has been waiting for too long. */
  check(): void {
    const latest = performance.now() - WRITE_TIMEOUT_MS;
    for (const [, startedAt] of this.#underWay) if (startedAt < latest) throw waited();
  }
}
