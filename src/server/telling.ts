/**
 * What a server's log is told of what comes in thousands: items that need a person, requests that failed, and what
 * failed and will be tried again.
 */
import type { pino } from 'pino';
import { Overloaded } from '../engine/actors/host.ts';
import { BankHeldBack, BankRefused } from '../engine/bank.ts';
import type { AttentionNote } from '../engine/journal.ts';
import { StoreUnavailable } from '../engine/store.ts';

const A_SECOND_MS = 1_000;
/** So many of a kind are told a second. */
const MOST_OF_A_KIND = 20;

/** Those that hold something back, each as the end of its second. */
const holding = new Set<() => void>();
process.on('exit', () => {
  for (const over of holding) over();
});

/**
 * Tells the first ones of a second at once; once it is over, or the process ends, the last of the others, and how many
 * `more` there were.
 */
function paced<Thing>(most: number, tell: (thing: Thing, more: number) => void): (thing: Thing) => void {
  let told = 0;
  let held: { last: Thing; count: number } | null = null;
  const over = (): void => {
    told = 0;
    if (held === null) return;
    const { last, count } = held;
    held = null;
    holding.delete(over);
    say(last, count - 1);
  };
  const say = (thing: Thing, more: number): void => {
    if (told === 0) setTimeout(over, A_SECOND_MS).unref();
    told += 1;
    tell(thing, more);
  };
  return (thing) => {
    if (told < most) {
      say(thing, 0);
      return;
    }
    held = { last: thing, count: (held?.count ?? 0) + 1 };
    holding.add(over);
  };
}

/** As `paced`, `MOST_OF_A_KIND` of each kind. */
function pacedByKind<Thing>(
  tell: (thing: Thing, more: number) => void,
): (kind: string, thing: Thing) => void {
  const tellers = new Map<string, (thing: Thing) => void>();
  return (kind, thing) => {
    const tellOne = tellers.get(kind) ?? paced(MOST_OF_A_KIND, tell);
    tellers.set(kind, tellOne);
    tellOne(thing);
  };
}

/** Counts every item that needs a person, and tells each, of one kind so many a second. */
export function attentionLog(
  log: pino.Logger,
  count: (kind: string) => void,
): (note: Pick<AttentionNote, 'kind' | 'id' | 'what'>) => void {
  const tell = pacedByKind((item: { kind: string; id: string }, more) =>
    log.warn({ ...item, more }, 'needs a person: see pixstate attention'),
  );
  return ({ kind, id, what }) => {
    count(kind);
    // Where money is missing it is told loudly, each time.
    if (what.includes('ALARM')) return log.error({ kind, id }, what);
    tell(kind, { kind, id });
  };
}

/** The status of an error of the API's, which has lost its class where another thread answered, and nothing else. */
function statusOf(error: unknown): unknown {
  return error instanceof Error && 'status' in error ? error.status : null;
}

/**
 * A failure is told whole, each time; what merchants' requests bring about by themselves so many a second of each kind;
 * an absent store once a second, with the number of requests that it cost.
 */
export function failureLog(log: pino.Logger): (error: unknown, requestId: string, path: string) => void {
  const refuse = paced(1, ({ message: reason }: Error, more) =>
    log.warn({ refused: more + 1, reason }, 'requests are refused'),
  );
  const tellRefused = paced(MOST_OF_A_KIND, (facts: object, more) =>
    log.info({ ...facts, more }, 'the bank refused a request'),
  );
  const tellSlow = paced(MOST_OF_A_KIND, (facts: object, more) =>
    log.warn({ ...facts, more }, 'a request took too long'),
  );
  return (error, requestId, path) => {
    const status = statusOf(error);
    // The bank's answer is business, and no failure of ours.
    if (error instanceof BankRefused) tellRefused({ requestId, path, reason: error.message });
    else if (error instanceof StoreUnavailable || error instanceof Overloaded) refuse(error);
    else if (error instanceof Error && status === 503) refuse(error);
    // Its body may never have come.
    else if (status === 504) tellSlow({ requestId, path });
    else log.error({ err: error, requestId, path }, 'a request failed');
  };
}

/** Errors are of one kind by their class, and by their code where they have one. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return `${error.constructor.name} ${'code' in error ? error.code : ''}`;
}

/**
 * What failed and will be tried again, of each kind so many a second, `about` what it was. Orders that wait while calls to
 * the bank are held back fail each at each try, all for one reason that is no fault of theirs: one line a second, and no
 * stack.
 */
export function troubleLog(log: pino.Logger): (error: unknown, about?: object) => void {
  const tell = (facts: object, more: number): void => log.warn({ ...facts, more }, 'will be tried again');
  const tellHeld = paced(1, tell);
  const tellOther = pacedByKind(tell);
  return (error, about) => {
    if (error instanceof BankHeldBack) tellHeld({ reason: error.message, ...about });
    else tellOther(kindOf(error), { err: error, ...about });
  };
}

/** Callbacks of the bank that weren't taken, of each kind of error so many a second: the bank sends them again. */
export function callbackLog(log: pino.Logger): (error: unknown) => void {
  const tell = pacedByKind((err: unknown, more) => log.warn({ err, more }, 'a callback will come again'));
  return (error) => tell(kindOf(error), error);
}
