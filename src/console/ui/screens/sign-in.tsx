/** Where nobody is signed in: one sentence, since links are printed by the server's own machine. */
import { CopyButton } from '../parts/copied.tsx';
import { Mark } from '../parts/icon.tsx';
import { Choices } from '../shell/shell.tsx';
import { useWords } from '../state/preferences.ts';
import type { SignInNote } from '../state/session.ts';
import { useTitle } from '../state/title.ts';

const COMMAND = 'npx pixstate console';

/** How to sign in with a link. */
function ByLink() {
  const words = useWords();
  return (
    <>
      <p>{words.signInHow}</p>
      <p class="command">
        <code>{COMMAND}</code>
        <CopyButton text={COMMAND} what={COMMAND} />
      </p>
      <p class="weak">{words.signInNote}</p>
    </>
  );
}

/** The proxy that signs people in is asked when the page is loaded anew. */
function ByProxy() {
  const words = useWords();
  return (
    <>
      <p>{words.signInByProxy}</p>
      <button type="button" onClick={() => location.reload()}>
        {words.signInReload}
      </button>
    </>
  );
}

export function SignIn({ note }: { note: SignInNote }) {
  const words = useWords();
  useTitle(words.signInTitle);
  const notes: Partial<Record<SignInNote, string>> = {
    refused: words.signInRefused,
    tooMany: words.signInTooMany,
    ended: words.sessionEnded,
  };
  const text = notes[note];
  return (
    <main class="sign-in">
      <div class="choices">
        <Choices />
      </div>
      <section class="panel">
        <Mark />
        <h1>{words.signInTitle}</h1>
        {text === undefined ? null : (
          <p class="bad-text" role="alert">
            {text}
          </p>
        )}
        {note === 'proxy' ? <ByProxy /> : <ByLink />}
      </section>
    </main>
  );
}
