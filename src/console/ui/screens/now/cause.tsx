/** One cause that needs somebody: what it is, since when, how much is at stake, and the one step that helps. */
import { itemIn } from '../../../../domain/sentences/items.ts';
import type { Cause } from '../../../shapes/now.ts';
import { ActButton } from '../../acts/button.tsx';
import type { Act } from '../../acts/shape.ts';
import { CopiedText } from '../../parts/copied.tsx';
import { FAMILY_ICONS } from '../../parts/families.ts';
import { Icon } from '../../parts/icon.tsx';
import { addressOf } from '../../router.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { CaseHeading, familyOfCase, Since } from './case.tsx';
import { causeWords } from './cause-words.ts';
import { actOn, type Step, step } from './step.ts';
import { useNowWords } from './words.ts';

function Heading({ cause, isWhole }: { cause: Cause; isWhole: boolean }) {
  const { language } = usePreferences();
  const { code, kind, count, sum, about } = cause;
  const words = causeWords[language][code ?? ''] ?? causeWords[language][kind];
  const sentence = words?.title[count === 1 ? 'one' : 'other'] ?? kind;
  return (
    <CaseHeading {...{ sentence, count, sum, isWhole }}>
      {about.url === null ? null : <code class="url">{about.url}</code>}
    </CaseHeading>
  );
}

/** What the receiver answered last. */
function LastAnswer({ cause }: { cause: Cause }) {
  const words = useNowWords();
  const { status = null, error = null } = (cause.sample.at(-1)?.data ?? {}) as {
    status?: number | null;
    error?: string | null;
  };
  const answer = status ?? error;
  if (answer === null || (cause.kind !== 'dead' && cause.kind !== 'rejected')) return null;
  return (
    <>
      {` · ${words.lastAnswer} `}
      <b class="bad-text">{String(answer)}</b>
    </>
  );
}

/** What it means: the kind's words, or the sentences of the item that is on the list longest. */
function Meaning({ cause }: { cause: Cause }) {
  const { language } = usePreferences();
  const own = useNowWords();
  const { code, kind, sample, accountName } = cause;
  const words = causeWords[language][code ?? ''] ?? causeWords[language][kind];
  const [item] = sample;
  const told = (words?.what ?? '') === '' && item !== undefined ? itemIn(language, item) : null;
  return (
    <>
      <p class="weak">{told?.what ?? words?.what}</p>
      {told === null || told.next.startsWith('npx pixstate inspect') ? null : <p class="weak">{told.next}</p>}
      <p class="weak">
        {accountName}
        <LastAnswer cause={cause} />
        {cause.count > 1 && told !== null ? ` ${fill(own.moreOfIt, { n: cause.count - 1 })}` : ''}
      </p>
    </>
  );
}

/** The transactions that it is about, the oldest first. */
function Samples({ cause, but }: { cause: Cause; but: string }) {
  const ids = [...new Set(cause.sample.flatMap(({ about }) => about.transaction ?? []))];
  const shown = ids.filter((id) => addressOf(id) !== but);
  if (shown.length === 0) return null;
  return (
    <span class="samples">
      {shown.map((id) => (
        <a key={id} href={addressOf(id)}>
          <code>{id.slice(0, 8)}</code>
          <span class="unseen">{id.slice(8)}</span>
        </a>
      ))}
    </span>
  );
}

function StepButton({ next, isStrong }: { next: Step; isStrong: boolean }) {
  const words = useNowWords();
  if (next.kind === 'command')
    return isStrong ? <CopiedText text={next.command} what={words.step.command} /> : null;
  return (
    <a class={isStrong ? 'strong' : undefined} href={next.href} data-row>
      {words.step[next.kind]}
    </a>
  );
}

function Doing({ act, again }: { act: Act; again(): void }) {
  const words = useWords();
  const own = useNowWords();
  const names: Readonly<Record<string, string>> = {
    retryUrl: words.actRetryAll,
    message: words.actSend,
    done: own.step.done,
  };
  return (
    <ActButton act={act} done={again} class="strong">
      {names[act.kind]}
    </ActButton>
  );
}

interface CauseCardProps {
  cause: Cause;
  isWhole: boolean;
  /** Reads the page afresh. */
  again(): void;
}

export function CauseCard({ cause, isWhole, again }: CauseCardProps) {
  const family = familyOfCase(cause.kind);
  const next = step(cause);
  const act = actOn(cause);
  return (
    <li class={`panel cause ${family}`}>
      <Icon name={FAMILY_ICONS[family]} />
      <Heading cause={cause} isWhole={isWhole} />
      <Since at={cause.since} />
      <div class="meaning">
        <Meaning cause={cause} />
      </div>
      <p class="cause-step">
        {act === null ? null : <Doing act={act} again={again} />}
        <StepButton next={next} isStrong={act === null} />
        <Samples cause={cause} but={'href' in next ? next.href : ''} />
      </p>
    </li>
  );
}
