/** The machine that a run is of. */
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';

export function machine() {
  return {
    node: process.version,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
  };
}
