/** Addresses of the pages: every view is one, filters too, so that it can be pasted into a chat. */
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Place {
  path: string;
  query: URLSearchParams;
}

export type Page =
  | { name: 'now' | 'transactions' | 'accounts' | 'deliveries' | 'sessions' | 'nothing' }
  | { name: 'transaction' | 'account'; id: string }
  /** The API; `endpoint`: which of its endpoints, or null. */
  | { name: 'reference'; endpoint: string | null };

const MOVED = 'pixstate:moved';

function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Goes to an address of this console; `replace`: without a way back. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  dispatchEvent(new Event(MOVED));
}

/** What a path's text was before it was put into an address; a broken one stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function pageOf(path: string): Page {
  if (path === '/') return { name: 'now' };
  if (path === '/transactions') return { name: 'transactions' };
  if (path === '/accounts') return { name: 'accounts' };
  if (path === '/deliveries') return { name: 'deliveries' };
  if (path === '/sessions') return { name: 'sessions' };
  const [isReference, endpoint = null] = /^\/reference(?:\/([\w-]+))?$/.exec(path) ?? [];
  if (isReference !== undefined) return { name: 'reference', endpoint };
  const [, kind, id] = /^\/(transaction|account)s\/([^/]+)$/.exec(path) ?? [];
  if (id === undefined) return { name: 'nothing' };
  return { name: kind === 'account' ? 'account' : 'transaction', id: decoded(id) };
}

export function addressOf(id: string): string {
  return `/transactions/${encodeURIComponent(id)}`;
}

export function accountAddress(id: string): string {
  return `/accounts/${encodeURIComponent(id)}`;
}

/** A page of lists, with filters. */
export function listAddress(page: 'transactions' | 'deliveries', filters: Record<string, string>): string {
  return `/${page}?${new URLSearchParams(filters)}`;
}

/** Changes what is chosen on this page: it stands in the address; an empty text leaves it out. */
export function choose(chosen: Record<string, string>, options: { replace?: boolean } = {}): void {
  const { path, query } = here();
  for (const [name, value] of Object.entries(chosen)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(text === '' ? path : `${path}?${text}`, options);
}

/** Where the reader is. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  // Before the page is seen: what is done on it at once may lead to another one.
  useLayoutEffect(() => {
    const moved = () => setPlace(here());
    addEventListener('popstate', moved);
    addEventListener(MOVED, moved);
    return () => {
      removeEventListener('popstate', moved);
      removeEventListener(MOVED, moved);
    };
  }, []);
  return place;
}

/** Lets links within the console change the page without loading it anew. */
export function takeLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.origin !== location.origin || link.target !== '' || link.hash !== '') return;
    event.preventDefault();
    if (link.href !== location.href) go(link.pathname + link.search);
    scrollTo(0, 0);
  });
}
