/** What the browser's tab is called. */
import { useEffect } from 'preact/hooks';

export function useTitle(text: string): void {
  useEffect(() => {
    document.title = `${text} · Pixstate`;
  }, [text]);
}
