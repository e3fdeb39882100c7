/** The forms by what is to be done. Those of one page alone come with that page. */
import type { FunctionComponent } from 'preact';
import { timeText } from '../../parts/time.tsx';
import { fill } from '../../state/preferences.ts';
import type { Act, Forms, ResultProps } from '../shape.ts';
import { cancelForm, refundForm } from './charge.tsx';
import { doneForm, retryForm } from './lists.tsx';
import { messageForm } from './message.tsx';
import type { Form } from './parts.tsx';
import { type FormList, formList } from './registry.ts';
import { Asked, urlForm } from './url.tsx';
import { wordsOf } from './words.ts';

const OWN: FormList = {
  message: { form: messageForm },
  refund: { form: refundForm },
  cancel: { form: cancelForm },
  retry: { form: retryForm },
  retryUrl: { form: urlForm, Result: Asked },
  done: { form: doneForm },
};

interface Known {
  form: Form<Act['kind']>;
  Result?: FunctionComponent<ResultProps>;
}

/** What errors tell besides their code; `by`: who was done with an item before. */
interface Extra {
  status?: string;
  allowed?: string[];
  by?: { name: string; at: string } | null;
  name?: string;
}

/** The form of an act, whatever its kind is. @throws where its page hasn't brought it */
function knownOf({ kind }: Act): Known {
  const known = (OWN[kind] ?? formList()[kind]) as Known | undefined;
  if (known === undefined) throw new Error(`no form for ${kind}`);
  return known;
}

export const forms: Forms = {
  planOf: (situation) => knownOf(situation.act).form.plan(situation, situation.act),
  Fields({ situation }) {
    const Own = knownOf(situation.act).form.Fields as FunctionComponent<object> | null;
    return Own === null ? null : <Own {...{ situation, act: situation.act }} />;
  },
  resultOf: (act) => knownOf(act).Result ?? null,
  troubleOf(code, extra, language) {
    const { trouble } = wordsOf(language);
    const texts: Readonly<Record<string, string>> = trouble;
    if (!Object.hasOwn(texts, code)) return null;
    const { status = '', allowed = [], by, name = '' } = extra as Extra;
    if (by) return fill(trouble.doneBy, { name: by.name, time: timeText(language, by.at, 'full') });
    const taken = allowed.length === 0 ? trouble.nothingAllowed : allowed.join(', ');
    return fill(texts[code] ?? '', { status, allowed: taken, name });
  },
};
