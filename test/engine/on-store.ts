/** An engine on a store, for tests that send it commands themselves. */
import { Engine, type EngineOptions } from '../../src/engine/engine.ts';

/** Its batches are `incarnation.1`, `incarnation.2`; its accounts have no settings where none are given. */
export function engineOn(
  store: EngineOptions['store'],
  now: () => number,
  {
    incarnation = 'a',
    settings = async () => null,
    isShared = false,
    ...others
  }: Partial<Pick<EngineOptions, 'settings' | 'isShared' | 'batchBytes'>> & { incarnation?: string } = {},
): Engine {
  let batches = 0;
  const newBatchId = (): string => `${incarnation}.${++batches}`;
  return new Engine({
    ...{ store, isShared, everyDoorSpeaks: true, now, newBatchId, stuckAfterMs: 300_000, settings },
    ...others,
  });
}
