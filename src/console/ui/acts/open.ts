/** The way to the dialog, from wherever something can be done. */
import type { Act } from './shape.ts';

/** `typed`: what came before the dialog was there, which is the beginning of the reason. */
type Opener = (act: Act, done: () => void, typed: string) => void;

let opener: Opener | null = null;
/** What was asked for before the dialog's script was there. */
let early: ((given: Opener) => void) | null = null;

/** Takes what is typed until the dialog is there; a field, so that accents and input methods work. */
function waiting(act: Act, done: () => void): (given: Opener) => void {
  const before = document.activeElement;
  const field = document.createElement('input');
  field.className = 'early';
  field.onkeydown = (event) => {
    if (event.key !== 'Escape') return;
    early = null;
    leave();
  };
  document.body.append(field);
  field.focus();
  function leave(): void {
    field.remove();
    // The dialog gives the focus back to what has it when it opens.
    if (before instanceof HTMLElement) before.focus();
  }
  return (given) => {
    leave();
    given(act, done, field.value);
  };
}

/** The dialog is there, or isn't any more. */
export function setOpener(given: Opener | null): void {
  opener = given;
  if (given === null || early === null) return;
  early(given);
  early = null;
}

/** Opens the dialog at once, with the cursor in it; `done` is called after each answer: what is shown is old then. */
export function openAct(act: Act, done: () => void): void {
  if (opener === null) early ??= waiting(act, done);
  else opener(act, done, '');
}
