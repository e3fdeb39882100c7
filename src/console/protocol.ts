/** What the console's thread and the engine's say to each other. */
import type { AttentionItem } from '../engine/store.ts';
import type { PackedError } from '../server/threads/errors.ts';
import type { Acted, ActWish } from './acts/wishes.ts';
import type { ConsoleSettings } from './settings.ts';
import type { RetryRun } from './shapes/acts.ts';
import type { UrlHealth } from './shapes/deliveries.ts';

/** What the thread is started with. */
export interface ConsoleData extends ConsoleSettings {
  host: string;
  port: number;
  dataDir: string;
  mongodbUri: string | null;
  /** The merchants' API on this machine, without a slash at its end. */
  api: string;
  sandbox: boolean;
  version: string;
  /** Names this run of this process. */
  incarnation: string;
}

/** What only the engine's thread can do. */
export type Wish =
  /** The metrics as text. */
  | { what: 'metrics' }
  | { what: 'swapMark'; name: string; before: string | null; text: string }
  /** How URLs do: of one account, or the worst of all. */
  | { what: 'urls'; account: string | null }
  /** What an operator does. */
  | { what: 'act'; wish: ActWish }
  /** How a run over a URL's deliveries goes; null: there is none of that id. */
  | { what: 'run'; id: string }
  /** How much was done until now. */
  | { what: 'tally' }
  /** An item is to be on the list of what needs a person. */
  | { what: 'note'; item: AttentionItem };

type LogLevel = 'info' | 'warn' | 'error';

/** What tells of the console's doings. */
export type ConsoleLog = Record<LogLevel, (what: object, text: string) => void>;

/** A line for the server's log, which the engine's thread alone writes: of two writers one's line may stand amid another's. */
export interface LogLine {
  level: LogLevel;
  facts: object;
  error: PackedError | null;
  text: string;
}

/** What this process has done since its start. */
export interface Tally {
  /** Messages that were committed. */
  entries: number;
  /** Deliveries that were attempted once, and those of them that were taken. */
  firsts: number;
  firstsTaken: number;
}

/** Metrics, and the content type that they have. */
export interface MetricsText {
  type: string;
  text: string;
}

/** How URLs do, the worst first, as this process has seen them. */
export interface SeenUrls {
  urls: UrlHealth[];
  /** How many more there are. */
  others: number;
  /** Since when, ISO. */
  since: string;
}

export type Granted = MetricsText | boolean | SeenUrls | Acted | RetryRun | Tally | null;

export type FromConsole =
  /** The journal was read again, up to what was written then (ms since 1970). */
  | { kind: 'followed'; at: number }
  | { kind: 'listening'; port: number }
  /** The port can't be listened on: the system's name of the error. */
  | { kind: 'refused'; code: string }
  | { kind: 'wish'; number: number; wish: Wish }
  | { kind: 'log'; line: LogLine }
  | { kind: 'drained' };

export type ToConsole =
  | { kind: 'granted'; number: number; granted: Granted }
  | { kind: 'failed'; number: number; unavailable: boolean; message: string }
  | { kind: 'drain'; timeoutMs: number };
