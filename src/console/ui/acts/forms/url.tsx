/** All that a URL didn't take since a time is sent again: one delivery first, then the rest, which stops by itself. */
import { useEffect, useState } from 'preact/hooks';
import type { RetryRun } from '../../../shapes/acts.ts';
import { ApiError, retryRun, act as send } from '../../api.ts';
import { localText } from '../../parts/time.tsx';
import { fill } from '../../state/preferences.ts';
import { newId } from '../id.ts';
import type { ActOf, Plan, ResultProps, Situation } from '../shape.ts';
import { Field, type Form, opsEntry, textOf } from './parts.tsx';
import type { ActWords } from './words.pt.ts';
import { wordsOf } from './words.ts';

const LOOK_MS = 700;
const PER_SECOND = 10;
const MOST_PER_SECOND = 50;

type UrlAct = ActOf<'retryUrl'>;

/** Since when; null: ever. Undefined where the field has no time. */
function sinceOf({ values }: Situation, { since }: UrlAct): string | null | undefined {
  if (values.since === undefined) return since;
  const text = textOf(values, 'since');
  if (text === '') return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function wishOf(situation: Situation, act: UrlAct): object | null {
  const since = sinceOf(situation, act);
  return since === undefined ? null : { account: act.account, url: act.url, since };
}

export const urlForm: Form<'retryUrl'> = {
  plan(situation, act): Plan {
    const words = wordsOf(situation.language);
    const wish = wishOf(situation, act);
    const { id, reason } = situation;
    const body = { id, ...wish, first: true, reason };
    const { url } = act;
    return {
      ...{ title: words.retryUrl.title, verb: words.retryUrl.ask },
      says: [words.retryUrl.says, words.retry.final],
      request: wish === null ? null : { method: 'POST', path: '/deliveries/retry', body },
      entry: opsEntry(situation, 'retry', { url, since: sinceOf(situation, act), ids: ['dlv_…'], count: 1 }),
    };
  },
  Fields({ situation, act }) {
    const words = wordsOf(situation.language).retryUrl;
    return (
      <>
        <p>
          <code>{act.url}</code> {act.account === null ? null : fill(words.account, { account: act.account })}
        </p>
        <Field
          situation={situation}
          name="since"
          label={words.since}
          isTime
          usual={localText(act.since ?? '')}
        />
      </>
    );
  },
};

/** A run, read until it is over. */
function useRun(first: RetryRun): { run: RetryRun; isLost: boolean } {
  const [run, setRun] = useState(first);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    setRun(first);
    const abort = new AbortController();
    const look = async () => {
      try {
        const next = await retryRun(first.id, abort.signal);
        setRun(next);
        if (next.state !== 'running') clearInterval(timer);
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) setLost(true);
      }
    };
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [first]);
  return { run, isLost };
}

/** What the URL said to the one delivery that was sent. */
function answerText(words: ActWords['retryUrl'], { url, asked, last, state }: RetryRun): string {
  if (asked === 0) return words.nothing;
  if (last === null) return state === 'running' ? fill(words.waiting, { url }) : words.state[state];
  const { statusCode, error, durationMs } = last;
  return statusCode === null
    ? fill(words.silent, { url, answer: error ?? '' })
    : fill(words.answered, { url, answer: statusCode, ms: durationMs });
}

function Progress({ first, words }: { first: RetryRun; words: ActWords['retryUrl'] }) {
  const { run, isLost } = useRun(first);
  const { retried, asked, delivered, failed, state } = run;
  return (
    <>
      <progress max={Math.max(1, asked)} value={delivered + failed} aria-label={words.title} />
      <p role="status">
        {fill(words.runs, { retried, asked, delivered, failed })} {isLost ? words.lost : words.state[state]}
      </p>
    </>
  );
}

interface RestProps {
  situation: Situation;
  left: number;
  /** The URL has taken the one that was sent first. */
  isUp: boolean;
  begin(perSecond: number): void;
}

function Rest({ situation, left, isUp, begin }: RestProps) {
  const words = wordsOf(situation.language).retryUrl;
  const given = Number(textOf(situation.values, 'rate') || PER_SECOND);
  const isRight = Number.isInteger(given) && given >= 1 && given <= MOST_PER_SECOND;
  return (
    <>
      <p>{left === 1 ? words.left.one : fill(words.left.other, { n: left })}</p>
      <Field situation={situation} name="rate" label={words.rate} usual={String(PER_SECOND)} />
      <button
        type="button"
        class={isUp ? 'strong' : ''}
        aria-disabled={!isRight}
        onClick={() => isRight && begin(given)}
      >
        {words.rest}
      </button>
    </>
  );
}

export function Asked({ situation, answer, close }: ResultProps) {
  const words = wordsOf(situation.language);
  const { run } = useRun(answer as RetryRun);
  const [rest, setRest] = useState<RetryRun | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [id, setId] = useState(newId);
  const act = situation.act as UrlAct;
  const left = run.asked - run.delivered;
  const begin = (perSecond: number) => {
    const body = { id, ...wishOf(situation, act), perSecond, reason: situation.reason };
    send('POST', '/deliveries/retry', body).then(
      (begun) => setRest(begun as RetryRun),
      (error: unknown) => {
        // Where nobody knows whether it has begun, the same id asks for it again.
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) setId(newId());
        setTrouble(error instanceof Error ? error.message : String(error));
      },
    );
  };
  return (
    <div class="outcome">
      <p role="status">{answerText(words.retryUrl, run)}</p>
      {run.state !== 'running' && left > 0 && rest === null ? (
        <Rest situation={situation} left={left} isUp={run.delivered > 0} begin={begin} />
      ) : null}
      {rest === null ? null : <Progress first={rest} words={words.retryUrl} />}
      <p class="bad-text" role="alert">
        {trouble}
      </p>
      <footer>
        <button type="button" onClick={close}>
          {words.secret.done}
        </button>
      </footer>
    </div>
  );
}
