/** What is shown once: new secrets. */
import { CopiedText } from '../../parts/copied.tsx';
import { fill } from '../../state/preferences.ts';
import type { ResultProps } from '../shape.ts';
import { wordsOf } from './words.ts';

interface Answer {
  clientId?: string;
  clientSecret?: string;
  url?: string;
  secret?: string;
  issued?: { url: string; secret: string }[];
}

function Secret({ name, text }: { name: string; text: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <CopiedText text={text} what={name} />
      </dd>
    </div>
  );
}

export function Secrets({ situation: { language }, answer, close }: ResultProps) {
  const words = wordsOf(language).secret;
  const { clientId, clientSecret, url, secret, issued = [] } = answer as Answer;
  const ofUrls = url === undefined || secret === undefined ? issued : [{ url, secret }];
  const isShown = ofUrls.length > 0 || clientSecret !== undefined;
  return (
    <div class="outcome">
      <p role="status">{isShown ? words.once : words.changed}</p>
      <dl class="facts">
        {clientId === undefined ? null : <Secret name={words.clientId} text={clientId} />}
        {clientSecret === undefined ? null : <Secret name={words.clientSecret} text={clientSecret} />}
        {ofUrls.map((each) => (
          <Secret key={each.url} name={fill(words.of, { url: each.url })} text={each.secret} />
        ))}
      </dl>
      <footer>
        <button type="button" class="strong" onClick={close}>
          {words.done}
        </button>
      </footer>
    </div>
  );
}
