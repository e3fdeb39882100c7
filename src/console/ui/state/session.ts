/** Who reads: the session of this browser, and the link that begins one. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Me } from '../../shapes.ts';

/** Why the sign-in page stands there; `proxy`: links are off, and a proxy signs people in. */
export type SignInNote = 'none' | 'refused' | 'tooMany' | 'ended' | 'proxy';

export interface Session {
  me: Me;
  /** An answer said that the session is over. */
  ended(): void;
  signOut(): void;
  /** Asks who reads: where that is somebody else by now, or in another role, the page is theirs. @throws ApiError */
  again(): Promise<Me>;
}

/** Whether both are one person in one role. */
export function isSame(one: Me, other: Me): boolean {
  return one.by === other.by && one.role === other.role;
}

export const SessionContext = createContext<Session | null>(null);

/** @throws where nobody is signed in */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('nobody is signed in');
  return session;
}

/** The key of the link that the page was opened by. It is taken out of the address at once: it is a secret. */
export function takeKey(): string | null {
  const [, key] = /^#k=(.+)$/.exec(location.hash) ?? [];
  if (key === undefined) return null;
  history.replaceState(null, '', location.pathname + location.search);
  return key;
}
