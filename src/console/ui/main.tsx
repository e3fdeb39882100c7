/** The console in a browser: who reads, in which language, and which page. */
import { render } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { Me } from '../shapes.ts';
import { ApiError, me as readMe, signIn, signOut } from './api.ts';
import { pageOf, takeLinks, usePlace } from './router.ts';
import { LaterPage } from './screens/later.tsx';
import { Nothing } from './screens/nothing.tsx';
import { SignIn } from './screens/sign-in.tsx';
import { Transaction } from './screens/transaction/transaction.tsx';
import { Shell } from './shell/shell.tsx';
import {
  fill,
  hearOf,
  loadWords,
  type Preferences,
  PreferencesContext,
  showPreferences,
  store,
  storedLanguage,
  storedTheme,
  useWords,
} from './state/preferences.ts';
import { isSame, SessionContext, type SignInNote, takeKey, useSession } from './state/session.ts';

type Standing =
  | { kind: 'asking' }
  | { kind: 'away'; why: string }
  | { kind: 'signedOut'; note: SignInNote }
  | { kind: 'signedIn'; me: Me };

/** What a failed sign-in means: a server that is away says nothing about the link. */
function standingAfter(error: unknown, isByLink: boolean): Standing {
  if (!(error instanceof ApiError)) return { kind: 'away', why: String(error) };
  if (error.status === 429) return { kind: 'signedOut', note: 'tooMany' };
  if (error.status === 0 || error.status >= 500) return { kind: 'away', why: error.message };
  if (error.code === 'SIGN_IN_BY_PROXY') return { kind: 'signedOut', note: 'proxy' };
  return { kind: 'signedOut', note: isByLink ? 'refused' : 'none' };
}

function useStanding() {
  const [standing, setStanding] = useState<Standing>({ kind: 'asking' });
  const begin = useCallback(async () => {
    const key = takeKey();
    try {
      setStanding({ kind: 'signedIn', me: await (key === null ? readMe() : signIn(key)) });
    } catch (error) {
      setStanding(standingAfter(error, key !== null));
    }
  }, []);
  useEffect(() => {
    const linked = () => {
      if (location.hash.startsWith('#k=')) void begin();
    };
    void begin();
    // A link that is opened in a tab which shows the console already changes the fragment alone.
    addEventListener('hashchange', linked);
    // Another tab has signed in or out: what is done here is done by whoever that is.
    const endHearing = hearOf('session', () => void begin());
    return () => {
      removeEventListener('hashchange', linked);
      endHearing();
    };
  }, [begin]);
  const again = useCallback(async () => {
    const me = await readMe();
    setStanding((before) =>
      before.kind === 'signedIn' && !isSame(before.me, me) ? { kind: 'signedIn', me } : before,
    );
    return me;
  }, []);
  return { standing, setStanding, begin, again };
}

/** Who opens the console looks for a transaction: scripts of other pages are loaded when somebody opens those. */
const loadTransactions = () =>
  import('./screens/transactions/transactions.tsx').then(({ Transactions }) => Transactions);
const loadAccounts = () => import('./screens/accounts.tsx').then(({ Accounts }) => Accounts);
const loadAccount = () => import('./screens/account/account.tsx').then(({ Account }) => Account);
const loadDeliveries = () =>
  import('./screens/deliveries/deliveries.tsx').then(({ Deliveries }) => Deliveries);
const loadSessions = () => import('./screens/sessions/sessions.tsx').then(({ Sessions }) => Sessions);
const loadNow = () => import('./screens/now/now.tsx').then(({ Now }) => Now);
const loadReference = () => import('./screens/reference/reference.tsx').then(({ Reference }) => Reference);

/** A proxy doesn't tell that somebody has left, or is in other groups. */
const WHO_EVERY_MS = 60_000;

function Page() {
  const page = pageOf(usePlace().path);
  switch (page.name) {
    case 'now':
      return <LaterPage load={loadNow} />;
    case 'transactions':
      return <LaterPage load={loadTransactions} />;
    case 'transaction':
      return <Transaction key={page.id} id={page.id} />;
    case 'deliveries':
      return <LaterPage load={loadDeliveries} />;
    case 'accounts':
      return <LaterPage load={loadAccounts} />;
    case 'account':
      return <LaterPage key={page.id} load={loadAccount} id={page.id} />;
    case 'reference':
      return <LaterPage load={loadReference} endpoint={page.endpoint} />;
    case 'sessions':
      return <LaterPage load={loadSessions} />;
    case 'nothing':
      return <Nothing />;
  }
}

/** A page is one person's in one role: what an operator has revealed isn't there for who comes after. */
function CurrentPage() {
  const { me, again } = useSession();
  useEffect(() => {
    if (me.via !== 'proxy') return;
    const ask = () => {
      // What a failure means is seen by whatever else is read.
      if (!document.hidden) again().catch(() => {});
    };
    const timer = setInterval(ask, WHO_EVERY_MS);
    document.addEventListener('visibilitychange', ask);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', ask);
    };
  }, [me.via, again]);
  return <Page key={`${me.role} ${me.by}`} />;
}

function Away({ why, again }: { why: string; again(): void }) {
  const words = useWords();
  return (
    <main class="sign-in">
      <section class="panel">
        <h1>Pixstate</h1>
        <p role="alert">{fill(words.failed, { why: why || words.unreachable })}</p>
        <button type="button" onClick={again}>
          {words.tryAgain}
        </button>
      </section>
    </main>
  );
}

function Reader() {
  const words = useWords();
  const { standing, setStanding, begin, again } = useStanding();
  const session = useMemo(() => {
    if (standing.kind !== 'signedIn') return null;
    const leave = (note: SignInNote) => setStanding({ kind: 'signedOut', note });
    return {
      me: standing.me,
      again,
      ended: () => leave(standing.me.via === 'proxy' ? 'proxy' : 'ended'),
      signOut: () =>
        void signOut()
          .catch(() => {})
          .then(() => leave('none')),
    };
  }, [standing, setStanding, again]);
  if (standing.kind === 'away') return <Away why={standing.why} again={() => void begin()} />;
  if (standing.kind === 'signedOut') return <SignIn note={standing.note} />;
  if (session === null) {
    return (
      <main class="sign-in">
        <p class="loading">{words.loading}</p>
      </main>
    );
  }
  return (
    <SessionContext.Provider value={session}>
      <Shell>
        <CurrentPage />
      </Shell>
    </SessionContext.Provider>
  );
}

/** A new version of the console has no script of an old one any more. While nothing answers the page stays. */
function loadAnew(): Promise<void> {
  return fetch(location.pathname, { method: 'HEAD' }).then(
    () => location.reload(),
    () => {},
  );
}

type Chosen = Omit<Preferences, 'choose'>;

function Console({ first }: { first: Chosen }) {
  const [chosen, setChosen] = useState(first);
  const preferences = useMemo<Preferences>(
    () => ({
      ...chosen,
      async choose(change) {
        const { language, theme } = { ...chosen, ...change };
        store('language', language);
        store('theme', theme);
        const words =
          language === chosen.language ? chosen.words : await loadWords(language).catch(() => null);
        // Without its words a language can't be shown: the one before stays as long as the page.
        if (words === null) return loadAnew();
        showPreferences({ language, theme });
        setChosen({ language, theme, words });
      },
    }),
    [chosen],
  );
  return (
    <PreferencesContext.Provider value={preferences}>
      <Reader />
    </PreferencesContext.Provider>
  );
}

const [language, theme] = [storedLanguage(), storedTheme()];
showPreferences({ language, theme });
takeLinks();
const words = await loadWords(language);
const root = document.getElementById('root');
if (root !== null) render(<Console first={{ language, theme, words }} />, root);
