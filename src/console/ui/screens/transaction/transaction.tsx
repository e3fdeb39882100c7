/** One transaction: why it is in its state, where its money is, and what its webhooks did. */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { familyOf } from '../../../shapes/families.ts';
import type { Entry, TransactionDocument } from '../../../shapes.ts';
import { openAct } from '../../acts/open.ts';
import { ApiError, transaction } from '../../api.ts';
import { type KeyedEntry, keyed } from '../../chart/path.ts';
import { Freshness, Trouble } from '../../parts/freshness.tsx';
import { usePlace } from '../../router.ts';
import { useShortcuts } from '../../shell/shortcuts.ts';
import { now } from '../../state/clock.ts';
import { useBell, useNews } from '../../state/news.ts';
import { LIVE_EVERY_MS } from '../../state/pages.ts';
import { fill, useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';
import { useSession } from '../../state/session.ts';
import { LaterPage } from '../later.tsx';
import { Acts, actOf } from './acts.tsx';
import { Deliveries } from './deliveries.tsx';
import { Heading } from './heading.tsx';
import { History } from './history.tsx';
import { Raw } from './raw.tsx';
import { Legs, Timers } from './standing.tsx';
import { Statechart } from './statechart.tsx';

/** While a transaction is open, or one of its webhooks is: so often its page reads it. */
const OPEN_MS = 2_000;
/** One that rests may be refunded or protested at any time. */
const RESTING_MS = 15_000;
/** News come at most so often. */
const REST_MS = 250;
/** A timer that has run out is heard of this much later. */
const AFTER_A_TIMER_MS = 300;

function everyMs({ status, deliveries }: TransactionDocument): number {
  const isOnItsWay = deliveries.some(({ status }) => status === 'pending' || status === 'retrying');
  const isOpen = ['open', 'care'].includes(familyOf(status));
  return isOnItsWay || isOpen ? OPEN_MS : RESTING_MS;
}

/** ms until the page is read again: sooner where a timer runs out before. */
function restsFor(document: TransactionDocument, isLive: boolean): number {
  const due = document.timers.map(({ at }) => Date.parse(at) - now() + AFTER_A_TIMER_MS);
  return Math.min(isLive ? LIVE_EVERY_MS : everyMs(document), ...due.filter((ms) => ms > 0));
}

/** Entries that were asked for page by page, below those of one reading, `of`. */
interface Older {
  of: string;
  entries: readonly Entry[];
  before: number | null;
}

/**
 * Entries below those that the page reads again and again. What is hidden goes with the rest; and news that push entries
 * off the newest page would leave a hole between: the older ones are offered anew then.
 */
function useOlder(document: TransactionDocument | null, isRevealed: boolean) {
  const session = useSession();
  const id = document?.id ?? '';
  const newest = document?.entries ?? [];
  const none: Older = {
    of: `${id} ${isRevealed} ${document?.before}`,
    entries: [],
    before: document?.before ?? null,
  };
  const { of } = none;
  const [known, setKnown] = useState(none);
  const older = known.of === of ? known : none;
  const { before } = older;
  const load = useCallback(async () => {
    if (before === null) return;
    const page = await transaction(id, { reveal: isRevealed, before });
    setKnown((last) => {
      const mine = last.of === of ? last : none;
      // What was asked for twice comes once.
      if (mine.before !== before) return mine;
      return { of, entries: [...mine.entries, ...page.entries], before: page.before };
    });
  }, [of, before]);
  const entries = [...newest, ...older.entries];
  const failed = (error: unknown) => {
    if (error instanceof ApiError && error.status === 401) session.ended();
  };
  return { entries, before, load: () => void load().catch(failed) };
}

function Tabs({ tab, path }: { tab: 'overview' | 'json'; path: string }) {
  const words = useWords();
  return (
    <nav class="tabs" aria-label={words.views}>
      <a href={path} aria-current={tab === 'overview' ? 'page' : undefined}>
        {words.overview}
      </a>
      <a href={`${path}?tab=json`} aria-current={tab === 'json' ? 'page' : undefined}>
        {words.json}
      </a>
    </nav>
  );
}

function useScrubbing(entries: readonly KeyedEntry[]) {
  const [key, show] = useState<string | null>(null);
  const [pointed, point] = useState<string | null>(null);
  const steps = entries.filter(({ refusal }) => refusal === null).map((entry) => entry.key);
  const move = (by: 1 | -1) => {
    const at = key === null ? 0 : steps.indexOf(key);
    const next = at - by;
    if (next <= 0) show(null);
    else show(steps[next] ?? steps.at(-1) ?? null);
  };
  useShortcuts({ '[': () => move(-1), ']': () => move(1), Escape: () => show(null) });
  return { key, pointed, show, point };
}

/** Few transactions have any: they come with the start page's script, which has the words. */
const loadCases = () => import('../now/now.tsx').then(({ Cases }) => Cases);

interface OverviewProps {
  document: TransactionDocument;
  isRevealed: boolean;
  older: (() => void) | null;
  /** Reads the page afresh. */
  again(): void;
}

function Overview({ document, isRevealed, older, again }: OverviewProps) {
  const entries = useMemo(() => keyed(document.entries), [document]);
  const scrubbed = useScrubbing(entries);
  const { me } = useSession();
  const mayAct = me.role === 'operator';
  return (
    <>
      {document.items.length === 0 ? null : (
        <LaterPage load={loadCases} items={document.items} again={again} />
      )}
      <Statechart
        document={document}
        entries={entries}
        scrubbed={scrubbed}
        send={mayAct ? (message) => openAct(actOf(document, message, me.sandbox), again) : undefined}
      />
      <div class="columns">
        <History entries={entries} scrubbed={scrubbed} older={older} />
        <div class="column">
          <Timers document={document} />
          <Legs legs={document.legs} />
          <Deliveries
            transaction={document.id}
            deliveries={document.deliveries}
            isRevealed={isRevealed}
            again={again}
          />
        </div>
      </div>
    </>
  );
}

function Missing({ id }: { id: string }) {
  const words = useWords();
  return (
    <div class="nothing">
      <h1>{words.notFoundTitle}</h1>
      <p>{fill(words.noTransaction, { id })}</p>
      <p>
        <a href="/transactions">{words.transactions}</a>
      </p>
    </div>
  );
}

export function Transaction({ id }: { id: string }) {
  const words = useWords();
  const place = usePlace();
  const [isRevealed, reveal] = useState(false);
  const read = useCallback(
    (signal: AbortSignal) => transaction(id, { reveal: isRevealed }, signal),
    [id, isRevealed],
  );
  const news = useNews({ key: id, query: { transaction: id }, counts: () => true, isList: false });
  const { isHeld } = news;
  const isLive = news.state === 'open';
  const reading = useReading({
    ...{ key: `${id} ${isRevealed}`, read, isHeld },
    restsFor: (document) => restsFor(document, isLive),
  });
  useBell(news, reading, { isHeld, restMs: REST_MS });
  // Revealing reads another document: the one before is shown until it is there.
  const [shown, setShown] = useState<TransactionDocument | null>(null);
  useEffect(() => {
    if (reading.value !== null) setShown(reading.value);
  }, [reading.value]);
  const newest = reading.value ?? shown;
  const { entries, before, load } = useOlder(newest, isRevealed);
  const document = useMemo(
    () => (newest === null ? null : { ...newest, entries, before }),
    // The entries follow from the document and from how many are older.
    [newest, entries.length, before],
  );
  if (reading.error?.status === 404 && reading.value === null) return <Missing id={id} />;
  if (document === null)
    return reading.error === null ? <p class="loading">{words.loading}</p> : <Trouble reading={reading} />;
  const tab = place.query.get('tab') === 'json' ? 'json' : 'overview';
  return (
    <>
      <Trouble reading={reading} news={news} />
      <Heading
        document={document}
        isRevealed={isRevealed}
        reveal={(on) => {
          // What is hidden goes at once, whatever the server does.
          if (!on) setShown(null);
          reveal(on);
        }}
      />
      <div class="tab-bar">
        <Tabs tab={tab} path={place.path} />
        <Acts document={document} again={reading.again} />
        <Freshness reading={reading} everyMs={everyMs(document)} news={news} />
      </div>
      {tab === 'json' ? (
        <Raw document={document} />
      ) : (
        <Overview
          document={document}
          isRevealed={isRevealed}
          older={before === null ? null : load}
          again={reading.again}
        />
      )}
    </>
  );
}
