/**
 * What an HTTP thread and the engine's tell each other. What either says in one turn of the event loop travels together,
 * as JSON: that is written and read in half the time that a structured clone takes. Only what callers made up themselves
 * is cloned, since JSON has no word for 1e400.
 */
import type { AccountReads } from '../../accounts/directory.ts';
import type { Answered } from '../../api/app.ts';
import type { Acts, ApiReads, CommandOptions, ReadPage } from '../../api/context.ts';
import type { Showing } from '../../api/showing.ts';
import type { StatementEnd } from '../../engine/statement/end.ts';
import type { PackedError } from './errors.ts';

interface Signature<Args extends readonly unknown[], Result> {
  args: Args;
  result: Result;
}

type Same<Asked extends (...args: never[]) => unknown> = Signature<
  Parameters<Asked>,
  Awaited<ReturnType<Asked>>
>;

export type Account = NonNullable<Awaited<ReturnType<AccountReads['get']>>>;

/** An account's settings, and the place of its bucket for the next second. */
export interface Known {
  account: Account;
  place: number;
}

/** What is asked of the engine's thread. */
export interface Questions {
  head: Same<ApiReads['head']>;
  read: Same<ApiReads['read']>;
  transaction: Same<ApiReads['transaction']>;
  entries: Same<ApiReads['entries']>;
  deliveries: Same<ApiReads['deliveries']>;
  shownById: Same<Showing['byId']>;
  shownByName: Same<Showing['byName']>;
  statementEnd: Same<StatementEnd>;
  account: Signature<[id: string], Known | null>;
  client: Signature<[clientId: string], Known | null>;
  noteUnknown: Same<Acts['noteUnknown']>;
  noteUndecided: Same<Acts['noteUndecided']>;
  notReady: Signature<[], string | null>;
}

type Act<Name extends 'createCharge' | 'createTransfer' | 'tell' | 'recordInvalid'> =
  Parameters<Acts[Name]> extends [infer First, infer Second, infer Third, CommandOptions]
    ? Signature<[First, Second, Third], Awaited<ReturnType<Acts[Name]>>>
    : never;

/** A merchant's act: the account is named, and its settings are read by the engine. */
type MerchantAct<Name extends 'createCharge' | 'createTransfer' | 'refund' | 'cancel'> = Signature<
  [account: string, request: Parameters<Acts[Name]>[1]],
  Awaited<ReturnType<Acts[Name]>>
>;

/** What the engine is to do, unless its caller has left or waits no more when its turn comes. */
export interface Commands {
  statement: Signature<[account: string, wish: Parameters<ReadPage>[1]], Awaited<ReturnType<ReadPage>>>;
  createCharge: MerchantAct<'createCharge'>;
  createTransfer: MerchantAct<'createTransfer'>;
  refund: MerchantAct<'refund'>;
  cancel: MerchantAct<'cancel'>;
  tell: Act<'tell'>;
  recordInvalid: Act<'recordInvalid'>;
}

export type QuestionName = keyof Questions;
export type CommandName = keyof Commands;

/** A question under a number of its thread's. */
export type Question<Name extends QuestionName = QuestionName> = {
  [One in Name]: { n: number; name: One; args: Questions[One]['args'] };
}[Name];

/** A command under a number of its thread's. `deadline`: ms of `elapsed`. */
export type Command<Name extends CommandName = CommandName> = {
  [One in Name]: { n: number; name: One; args: Commands[One]['args']; weight: number; deadline: number };
}[Name];

export type Call = Question | Command;

/** Calls that hold what callers made up, and are cloned. */
export const FOREIGN: ReadonlySet<string> = new Set<QuestionName | CommandName>([
  'noteUnknown',
  'noteUndecided',
  'tell',
  'recordInvalid',
]);

/** Times of answers that have method, route and status in common, ms. */
export interface Observed extends Pick<Answered, 'method' | 'route' | 'status'> {
  ms: number[];
}

/** A request that failed, for the log. */
export interface Failed {
  error: PackedError;
  requestId: string;
  path: string;
}

/** From an HTTP thread. */
export interface FromThread {
  /** It listens, on this port. */
  listening?: number;
  /** It can't listen. */
  refused?: PackedError;
  /** All its requests have ended. */
  drained?: true;
  /** `Call[]` as JSON. */
  calls?: string;
  foreign?: Call[];
  /** Numbers of commands whose callers have left. */
  left?: number[];
  observed?: Observed[];
  /** Each answer, where the log tells of them. */
  answered?: Answered[];
  failed?: Failed[];
}

/** The engine's word on a call; `dropped`: at its deadline, undecided. */
export type Reply = { n: number } & ({ value: unknown } | { error: PackedError } | { dropped: true });

/** What the engine says of calls. */
export interface Replies {
  /** `Reply[]` as JSON. */
  replies: string;
  /** Values that are texts, each behind the number of its call: JSON themselves, they would have to be quoted in it. */
  texts: (number | string)[];
}

/** To an HTTP thread. */
export type ToThread =
  | Replies
  /** Ends it: its requests have so long, ms. */
  | { drainMs: number };

/** What an HTTP thread is opened with. */
export interface ThreadData {
  host: string;
  port: number;
  /** Others listen on the port as well. */
  shared: boolean;
  /** The memory of the server's `Flags`. */
  flags: SharedArrayBuffer;
  /** What a start has yet to do, for probes. */
  awaited: string;
  /** The memory of the rate limit's buckets. */
  buckets: SharedArrayBuffer;
  trustedProxyHops: number;
  sandbox: boolean;
  bankCallbackSecret: string | null;
  /** Whether the log tells of each answer. */
  verbose: boolean;
}
