import type { JobParameters, JobsQueryOptions, JobsSort, RemoveJobsOptions } from 'agenda';

type Selection = Pick<JobsQueryOptions, 'id' | 'ids' | 'name' | 'names' | 'data'> &
  Pick<RemoveJobsOptions, 'notNames'>;

const SORT_FIELDS = ['nextRunAt', 'lastRunAt', 'lastFinishedAt', 'priority', 'name', 'data'] as const;

/**
 * A predicate for the jobs that `id`, `ids`, `name`, `names`, `notNames` and `data` select together.
 * A single value wins over its list; an empty list is no criterion. Without any criterion: undefined,
 * so that a caller which removes or disables can't hit everything by accident.
 */
export function selectJobs(selection: Selection): ((job: JobParameters) => boolean) | undefined {
  const { data } = selection;
  const ids = listed(selection.id, selection.ids);
  const names = listed(selection.name, selection.names);
  const notNames = names ? undefined : listed(undefined, selection.notNames);
  if (!ids && !names && !notNames && data === undefined) return undefined;
  return (job) =>
    (!ids || (job._id !== undefined && ids.has(job._id))) &&
    (!names || names.has(job.name)) &&
    !notNames?.has(job.name) &&
    (data === undefined || containsValue(job.data, data));
}

/**
 * Whether a job has the expected value at each path of a unique constraint, such as `data.user.id`.
 * A missing field equals null.
 */
export function matchesUnique(job: JobParameters, unique: Record<string, unknown>): boolean {
  return Object.entries(unique).every(
    ([path, expected]) => compareValues(valueAt(job, path), expected) === 0,
  );
}

/** A comparison by the given fields, in the port's order of fields; newest `nextRunAt` first by default. */
export function jobOrder(sort: JobsSort | undefined): (a: JobParameters, b: JobParameters) => number {
  const asked = SORT_FIELDS.filter((field) => sort?.[field] !== undefined);
  const order: JobsSort = asked.length > 0 && sort ? sort : { nextRunAt: 'desc', lastRunAt: 'desc' };
  const fields = SORT_FIELDS.filter((field) => order[field] !== undefined);
  return (a, b) => {
    for (const field of fields) {
      const difference = compareValues(a[field], b[field]);
      if (difference !== 0) return order[field] === 'asc' ? difference : -difference;
    }
    return 0;
  };
}

/**
 * Orders any two plain values the way a document database does: first by type (nothing, numbers,
 * strings, objects, lists, booleans, dates), then by value. Zero means equal.
 */
export function compareValues(a: unknown, b: unknown): number {
  const byType = typeRank(a) - typeRank(b);
  if (byType !== 0) return byType;
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (isRecord(a) && isRecord(b)) return compareLists(sortedEntries(a), sortedEntries(b));
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return comparePlain(String(a ?? ''), String(b ?? ''));
}

function listed<T extends string>(one: T | undefined, many: T[] | undefined): Set<string> | undefined {
  if (one) return new Set([one]);
  return many && many.length > 0 ? new Set(many) : undefined;
}

/** An object contains another if it has all of its fields, at any depth; all else must be equal. */
function containsValue(value: unknown, part: unknown): boolean {
  if (!isRecord(value) || !isRecord(part)) return compareValues(value, part) === 0;
  return Object.entries(part).every(([key, expected]) => containsValue(value[key], expected));
}

function valueAt(value: unknown, path: string): unknown {
  let current = value;
  for (const key of path.split('.')) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function typeRank(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === 'number' || typeof value === 'bigint') return 1;
  if (typeof value === 'string') return 2;
  if (typeof value === 'boolean') return 5;
  if (value instanceof Date) return 6;
  return Array.isArray(value) ? 4 : 3;
}

function compareLists(a: readonly unknown[], b: readonly unknown[]): number {
  for (let index = 0; index < a.length && index < b.length; index += 1) {
    const difference = compareValues(a[index], b[index]);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function sortedEntries(value: Record<string, unknown>): [string, unknown][] {
  return Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => comparePlain(a, b));
}

function comparePlain(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
