/** An address that leads to no page. */
import { useWords } from '../state/preferences.ts';
import { useTitle } from '../state/title.ts';

export function Nothing() {
  const words = useWords();
  useTitle(words.notFoundTitle);
  return (
    <div class="nothing">
      <h1>{words.notFoundTitle}</h1>
      <p>{words.notFound}</p>
      <p>
        <a href="/">{words.now}</a>
      </p>
    </div>
  );
}
