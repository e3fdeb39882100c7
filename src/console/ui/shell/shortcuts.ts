/** Keys without a modifier, where nobody is typing: a key by itself, or `g` and another one after it. */
import { useLayoutEffect, useRef } from 'preact/hooks';

/** By the key, or by `g t` for two of them. */
export type Shortcuts = Readonly<Record<string, () => void>>;

const TOGETHER_MS = 1_200;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}

/** They hold as long as the component is there. A dialog that is open has the keys to itself. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  // Before the page is seen: whoever sees it may press a key at once.
  useLayoutEffect(() => {
    let begun = { key: '', at: 0 };
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
      const isSecond = begun.key === 'g' && event.timeStamp - begun.at < TOGETHER_MS;
      const action = latest.current[isSecond ? `g ${event.key}` : event.key];
      begun = { key: event.key, at: event.timeStamp };
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

/** Moves the focus among the page's rows: what `j` and `k` do. Enter is the row's own. */
export function moveAmongRows(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]:not(:disabled)')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
  rows[Math.min(rows.length - 1, Math.max(0, next))]?.focus();
}
