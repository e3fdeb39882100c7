/** What stores are remembered by: a part of the store's port. */

/** What a store as a whole is remembered by: texts of at most some megabytes, by their names. */
export interface Marks {
  mark(name: string): Promise<string | null>;
  /** Keeps a text; the first one stays. */
  keepMark(name: string, text: string): Promise<void>;
  /** Puts a text in the place of the one before. */
  putMark(name: string, text: string): Promise<void>;
  /** Puts a text in the place of that one (null: of none); false where another one is there. Of several who do, one gets true. */
  swapMark(name: string, before: string | null, text: string): Promise<boolean>;
}
