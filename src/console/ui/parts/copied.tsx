/** Texts that can be copied whole, and the polite word that they were. */
import { useState } from 'preact/hooks';
import { fill, useWords } from '../state/preferences.ts';
import { Icon } from './icon.tsx';

const SHOWN_MS = 1_600;

export function CopyButton({ text, what }: { text: string; what: string }) {
  const words = useWords();
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return (
    <>
      <button
        type="button"
        class="copy"
        aria-label={fill(words.copy, { what })}
        title={fill(words.copy, { what })}
        onClick={() => void copy().catch(() => setDone(false))}
      >
        <Icon name={isDone ? 'tick' : 'copy'} size={14} />
      </button>
      <span class="unseen" role="status">
        {isDone ? words.copied : ''}
      </span>
    </>
  );
}

/** An id's beginning and end, where it is too long for its place. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 6)}…${text.slice(-4)}`;
}

export function CopiedText({ text, what, most = 64 }: { text: string; what: string; most?: number }) {
  return (
    <span class="copied">
      <code title={text.length > most ? text : undefined}>{shortened(text, most)}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}
