/** What a person can do on a page, and what the dialog needs to know to have it done. */
import type { FunctionComponent } from 'preact';
import type { AccountDocument } from '../../shapes/account.ts';
import type { Item, Language, Me, TransactionDocument } from '../../shapes.ts';

/** Something that is to be done, as whoever opens the dialog knows it. */
export type Act =
  /** A message to a transaction; `message`: the one that was clicked. Without a document it is read. */
  | { kind: 'message'; transaction: string; document: TransactionDocument | null; message: string | null }
  | { kind: 'refund' | 'cancel'; document: TransactionDocument }
  /** Deliveries by their ids, at most 100. */
  | { kind: 'retry'; deliveries: readonly { id: string; event: string; url: string }[] }
  /** All that a URL didn't take since a time (ISO) or ever (null), of one account or of all (null). */
  | { kind: 'retryUrl'; account: string | null; url: string; since: string | null }
  /** Items of one kind of what needs a person, at most 100; `of`: how many there are, of which these are the oldest. */
  | { kind: 'done'; items: readonly Item[]; of: number }
  | { kind: 'adjust' | 'settings'; account: AccountDocument }
  /** Of the client (null), or of a URL. */
  | { kind: 'rotate'; account: AccountDocument; url: string | null };

export type ActOf<Kind extends Act['kind']> = Act & { kind: Kind };

/** What was put into the fields so far, by their names. */
export type Values = Readonly<Record<string, unknown>>;

/** What a form is shown and planned with. */
export interface Situation {
  act: Act;
  values: Values;
  /** Changes those that it names. */
  set(changes: Values): void;
  id: string;
  reason: string;
  me: Me;
  language: Language;
}

/** What is to be done, as far as the fields say it. */
export interface Plan {
  title: string;
  verb: string;
  /** What will happen, and what would take it back. */
  says: string[];
  /** Null: something is missing yet. */
  request: { method: 'POST' | 'PATCH'; path: string; body: object } | null;
  /** The journal's entry. */
  entry: object;
}

/** What follows an answer that leaves more to be shown. */
export interface ResultProps {
  situation: Situation;
  answer: unknown;
  close(): void;
}

/** The forms, which come with a script of their own. */
export interface Forms {
  planOf(situation: Situation): Plan;
  Fields: FunctionComponent<{ situation: Situation }>;
  /** Null where the dialog closes with the answer. */
  resultOf(act: Act): FunctionComponent<ResultProps> | null;
  /** What an error's code means to who has asked. */
  troubleOf(code: string, extra: Readonly<Record<string, unknown>>, language: Language): string | null;
}
