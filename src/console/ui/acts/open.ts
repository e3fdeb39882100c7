/** The way to the dialog, from wherever something can be done. */
import type { Act } from './shape.ts';

type Opener = (act: Act, done: () => void) => void;

let opener: Opener | null = null;
/** What was asked for before the dialog's script was there. */
let early: Parameters<Opener> | null = null;

/** The dialog is there, or isn't any more. */
export function setOpener(given: Opener | null): void {
  opener = given;
  if (given !== null && early !== null) given(...early);
  early = null;
}

/** Opens the dialog at once, with the cursor in it; `done` is called after each answer: what is shown is old then. */
export function openAct(act: Act, done: () => void): void {
  if (opener === null) early = [act, done];
  else opener(act, done);
}
