/** Glyphs, drawn with lines of the text's colour; they say nothing to a screen reader: a word stands beside each. */
import { GLYPHS, type GlyphName } from './glyphs.ts';

export function Icon({ name, size = 16 }: { name: GlyphName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={GLYPHS[name]} />
    </svg>
  );
}

/** The mark of Pixstate: a state within a Pix's diamond. */
export function Mark() {
  return (
    <svg class="mark" width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" focusable="false">
      <path d="M11 1.8 20.2 11 11 20.2 1.8 11z" />
      <circle cx="11" cy="11" r="3.1" />
    </svg>
  );
}
