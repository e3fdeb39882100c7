import type { TransactionRecord } from '../../../engine/journal.ts';

/** Makes plain JSON, to its depth, a value that nobody changes. */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const name in value) frozen(value[name]);
  return Object.freeze(value);
}

/** As `frozen`, of a record: its parts are known, and those that have only texts and numbers aren't gone through. */
export function frozenRecord(record: TransactionRecord): TransactionRecord {
  if (Object.isFrozen(record)) return record;
  const { snapshot, seqs, messages, timers, lastDeliveries } = record;
  if (!Object.isFrozen(snapshot)) {
    frozen(snapshot.context);
    Object.freeze(snapshot);
  }
  // One that is rotten may lack any part.
  for (const timer of timers ?? []) Object.freeze(timer);
  for (const plain of [seqs, messages, timers, lastDeliveries]) Object.freeze(plain);
  return Object.freeze(record);
}
