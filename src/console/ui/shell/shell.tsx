/** What is around every page: the search box, who reads, language and theme, and the way to the other pages. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { ActDialogLater } from '../acts/later.tsx';
import { now as readNow } from '../api.ts';
import type { GlyphName } from '../parts/glyphs.ts';
import { Icon, Mark } from '../parts/icon.tsx';
import { timeText } from '../parts/time.tsx';
import { go, type Page, pageOf, usePlace } from '../router.ts';
import { casesIn } from '../state/cases.ts';
import { fill, nextTheme, type Theme, usePreferences, useWords } from '../state/preferences.ts';
import { useReading } from '../state/reading.ts';
import { useSession } from '../state/session.ts';
import { Find } from './find.tsx';
import { Keys } from './keys.tsx';
import { moveAmongRows, useShortcuts } from './shortcuts.ts';

const THEME_ICONS: Record<Theme, GlyphName> = { auto: 'half', light: 'sun', dark: 'moon' };

interface Section {
  section: 'now' | 'transactions' | 'deliveries' | 'accounts';
  href: string;
  icon: GlyphName;
  /** The pages that belong to it. */
  isOf: readonly Page['name'][];
}

const SECTIONS: readonly Section[] = [
  { section: 'now', href: '/', icon: 'pulse', isOf: ['now'] },
  { section: 'transactions', href: '/transactions', icon: 'swap', isOf: ['transactions', 'transaction'] },
  { section: 'deliveries', href: '/deliveries', icon: 'send', isOf: ['deliveries'] },
  { section: 'accounts', href: '/accounts', icon: 'bank', isOf: ['accounts', 'account'] },
];

/** Language and theme: on the sign-in page, too. */
export function Choices() {
  const words = useWords();
  const { language, theme, choose } = usePreferences();
  return (
    <>
      <button
        type="button"
        class="quiet square"
        aria-label={words.switchLanguage}
        title={words.switchLanguage}
        onClick={() => choose({ language: language === 'pt' ? 'en' : 'pt' })}
      >
        {language.toUpperCase()}
      </button>
      <button
        type="button"
        class="quiet square"
        aria-label={words.theme[theme]}
        title={words.theme[theme]}
        onClick={() => choose({ theme: nextTheme(theme) })}
      >
        <Icon name={THEME_ICONS[theme]} />
      </button>
    </>
  );
}

function Who() {
  const words = useWords();
  const { language } = usePreferences();
  const { me, signOut } = useSession();
  const { by, until } = me;
  const hint =
    until === null
      ? fill(words.roleByProxy, { by })
      : fill(words.roleHint, { by, until: timeText(language, until, 'full') });
  return (
    <>
      {me.via === 'proxy' ? (
        <span class="who" title={hint}>
          {words.role[me.role]}
        </span>
      ) : (
        <a class="who" href="/sessions" title={hint}>
          {words.role[me.role]}
        </a>
      )}
      <Choices />
      {me.via === 'proxy' ? null : (
        <button
          type="button"
          class="quiet square"
          aria-label={words.signOut}
          title={words.signOut}
          onClick={signOut}
        >
          <Icon name="leave" />
        </button>
      )}
    </>
  );
}

/** Puts the cursor into the search box in the key's own turn, so that what is typed next arrives in it. */
function useFindKeys() {
  const box = useRef<HTMLInputElement>(null);
  const focus = () => {
    box.current?.focus();
    box.current?.select();
  };
  useShortcuts({ '/': focus });
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      box.current?.focus();
      box.current?.select();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return box;
}

const CASES_EVERY_MS = 10_000;

/** How many cases need somebody. */
function Cases() {
  const { value } = useReading({ key: '', read: readNow, restsFor: () => CASES_EVERY_MS });
  const count = value === null ? 0 : casesIn(value);
  return count === 0 ? null : <span class="badge">{count}</span>;
}

export function Shell({ children }: { children: ComponentChildren }) {
  const words = useWords();
  const { me } = useSession();
  const page = pageOf(usePlace().path).name;
  const box = useFindKeys();
  const keys = useRef<HTMLDialogElement>(null);
  useShortcuts({
    'g n': () => go('/'),
    'g t': () => go('/transactions'),
    'g d': () => go('/deliveries'),
    'g a': () => go('/accounts'),
    j: () => moveAmongRows(1),
    k: () => moveAmongRows(-1),
    '?': () => keys.current?.showModal(),
  });
  return (
    <>
      <a class="skip" href="#content">
        {words.skip}
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label={words.appName}>
          <Mark />
          <span>pixstate</span>
        </a>
        {me.sandbox ? (
          <span class="environment" title={words.sandboxHint}>
            {words.sandbox}
          </span>
        ) : null}
        <Find box={box} />
        <div class="choices">
          <Who />
        </div>
      </header>
      <nav class="rail" aria-label={words.main}>
        {SECTIONS.map(({ section, href, icon, isOf }) => (
          <a key={section} href={href} aria-current={isOf.includes(page) ? 'page' : undefined}>
            <Icon name={icon} />
            {words[section]}
            {section === 'now' ? <Cases /> : null}
          </a>
        ))}
        <a class="apart" href="/reference" aria-current={page === 'reference' ? 'page' : undefined}>
          <Icon name="braces" />
          {words.api}
        </a>
        <button type="button" class="quiet" onClick={() => keys.current?.showModal()}>
          <Icon name="keys" />
          {words.keysTitle}
        </button>
      </nav>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Keys dialog={keys} />
      <ActDialogLater />
    </>
  );
}
