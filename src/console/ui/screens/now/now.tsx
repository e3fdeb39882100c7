/**
 * The start page: what needs somebody, a few figures, and the journal's newest entries. The cases of a single
 * transaction, which few have, come with its script.
 */
import { itemIn } from '../../../../domain/sentences/items.ts';
import type { Cause, NowDocument } from '../../../shapes/now.ts';
import type { Item } from '../../../shapes.ts';
import { ActButton } from '../../acts/button.tsx';
import { now as readNow } from '../../api.ts';
import { FAMILY_ICONS } from '../../parts/families.ts';
import { Trouble } from '../../parts/freshness.tsx';
import { Icon } from '../../parts/icon.tsx';
import { timeText } from '../../parts/time.tsx';
import { casesIn } from '../../state/cases.ts';
import { now } from '../../state/clock.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';
import { useTitle } from '../../state/title.ts';
import { familyOfCase, Since } from './case.tsx';
import { CauseCard } from './cause.tsx';
import { Feed } from './feed.tsx';
import { Strip } from './figures.tsx';
import { ProtestCard } from './protests.tsx';
import { useNowWords } from './words.ts';

const EVERY_MS = 3_000;
/** A count that is older says so. */
const OLD_MS = 15_000;

/** That a list is too long to have been counted just now. */
function CountNote({ document: { counted, others } }: { document: NowDocument }) {
  const words = useNowWords();
  const { language } = usePreferences();
  const isOld = now() - Date.parse(counted.at) > OLD_MS;
  const notes = [
    others === 0 ? '' : fill(words.others[others === 1 ? 'one' : 'other'], { n: others }),
    counted.complete ? '' : words.stillCounting,
    counted.complete && isOld ? fill(words.countedAt, { time: timeText(language, counted.at, 'clock') }) : '',
  ].filter((note) => note !== '');
  return notes.length === 0 ? null : <p class="weak">{notes.join(' ')}</p>;
}

/** The books are off: that comes before what is to be decided. */
function isFault({ kind }: Cause): boolean {
  return kind === 'journal' || kind === 'projection';
}

function Causes({ document, again }: { document: NowDocument; again(): void }) {
  const words = useNowWords();
  const { causes, counted, protests } = document;
  if (casesIn(document) === 0)
    return (
      <p class="panel all-well">
        <span class="good-text">
          <Icon name="tick" size={20} />
        </span>
        {counted.complete ? words.allWell : words.stillCounting}
      </p>
    );
  const card = (cause: Cause) => (
    <CauseCard
      key={`${cause.kind} ${cause.code} ${cause.about.account} ${cause.about.url}`}
      cause={cause}
      isWhole={counted.complete}
      again={again}
    />
  );
  return (
    <>
      <ul class="causes" aria-label={words.causes}>
        {causes.filter(isFault).map(card)}
        {protests.n === 0 ? null : <ProtestCard protests={protests} again={again} />}
        {causes.filter((cause) => !isFault(cause)).map(card)}
      </ul>
      <CountNote document={document} />
    </>
  );
}

/** How many cases there are, in words. */
function heading(words: ReturnType<typeof useNowWords>, n: number): string {
  if (n === 0) return words.title.none;
  return fill(n === 1 ? words.title.one : words.title.other, { n });
}

export function Now() {
  const words = useNowWords();
  const shell = useWords();
  const reading = useReading({ key: '', read: readNow, restsFor: () => EVERY_MS });
  const document = reading.value;
  const cases = document === null ? 0 : casesIn(document);
  useTitle(cases === 0 ? shell.now : `(${cases}) ${shell.now}`);
  return (
    <>
      <Trouble reading={reading} />
      <h1>{document === null ? shell.now : heading(words, cases)}</h1>
      {document === null ? (
        <p class="loading">{reading.error === null ? shell.loading : ''}</p>
      ) : (
        <>
          <Strip figures={document.figures} />
          <div class="now">
            <div>
              <Causes document={document} again={reading.again} />
            </div>
            <Feed />
          </div>
        </>
      )}
    </>
  );
}

interface CasesProps {
  items: readonly Item[];
  /** Reads the page afresh. */
  again(): void;
}

function Case({ item, again }: { item: Item; again(): void }) {
  const words = useNowWords();
  const { language } = usePreferences();
  const family = familyOfCase(item.kind);
  const { what, next } = itemIn(language, item);
  return (
    <li class={`panel cause ${family}`}>
      <Icon name={FAMILY_ICONS[family]} />
      <h2>{what}</h2>
      <Since at={item.since} />
      {/* This is the page that it leads to. */}
      {next.startsWith('npx pixstate inspect') ? null : <p class="meaning weak">{next}</p>}
      <p class="cause-step">
        <ActButton act={{ kind: 'done', items: [item], of: 1 }} done={again}>
          {words.step.done} <span class="unseen">{what}</span>
        </ActButton>
      </p>
    </li>
  );
}

/** What needs a person about a transaction, for its own page: each to be done with by itself, once it is looked into. */
export function Cases({ items, again }: CasesProps) {
  const words = useNowWords();
  return (
    <ul class="causes" aria-label={words.causes}>
      {items.map((item) => (
        <Case key={`${item.kind} ${item.id}`} item={item} again={again} />
      ))}
    </ul>
  );
}
