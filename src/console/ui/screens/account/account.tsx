/** One account: what it has now or had at a time, what moved it, how its URLs do, and how it is set. */
import { useCallback } from 'preact/hooks';
import type { AccountDocument, StatementPage } from '../../../shapes/account.ts';
import { ActButton } from '../../acts/button.tsx';
import { accountForms } from '../../acts/forms/account.tsx';
import { addForms } from '../../acts/forms/registry.ts';
import { account, statement } from '../../api.ts';
import { Chip } from '../../parts/chip.tsx';
import { CopiedText } from '../../parts/copied.tsx';
import { Freshness, Trouble } from '../../parts/freshness.tsx';
import { Time, timeIn } from '../../parts/time.tsx';
import { listAddress, usePlace } from '../../router.ts';
import { type News, useBell, useNews } from '../../state/news.ts';
import { LIVE_EVERY_MS, type Pages, usePages } from '../../state/pages.ts';
import { fill, useWords } from '../../state/preferences.ts';
import { type Reading, useReading } from '../../state/reading.ts';
import { useTitle } from '../../state/title.ts';
import { Balance } from './balance.tsx';
import { Health, Journal, Settings } from './health.tsx';
import { Statement } from './statement.tsx';

const EVERY_MS = 5_000;
/** Under load the account is read so often. */
const REST_MS = 1_000;

addForms(accountForms);

interface HeadingProps {
  document: AccountDocument;
  reading: Reading<AccountDocument>;
  news: News;
  /** Reads the page afresh. */
  again(): void;
}

function Heading({ document, reading, news, again }: HeadingProps) {
  const words = useWords();
  const { id, name, status, userStatus, clientId, createdAt } = document;
  const isActive = status === 'active' && userStatus === 'active';
  useTitle(name);
  return (
    <div class="heading">
      <nav class="crumbs" aria-label={words.accounts}>
        <a href="/accounts">{words.accounts}</a>
      </nav>
      <div class="title">
        <h1>{name}</h1>
        {isActive ? null : <Chip family="ended" word={words.activity.inactive} isLarge />}
      </div>
      <p class="subtitle">
        <CopiedText text={id} what="id" />
      </p>
      <Acts document={document} again={again} />
      <div class="actions">
        <Freshness reading={reading} everyMs={EVERY_MS} news={news} />
      </div>
      <dl class="facts">
        <div>
          <dt>{words.clientId}</dt>
          <dd>
            <CopiedText text={clientId} what={words.clientId} most={24} />
          </dd>
        </div>
        <div>
          <dt>{words.created}</dt>
          <dd>
            <Time at={createdAt} />
          </dd>
        </div>
        <div>
          <dt>{words.openOf}</dt>
          <dd class="links">
            <a href={listAddress('transactions', { account: id })}>{words.transactions}</a>
            <a href={listAddress('deliveries', { account: id })}>{words.deliveries}</a>
          </dd>
        </div>
      </dl>
    </div>
  );
}

function Acts({ document, again }: { document: AccountDocument; again(): void }) {
  const words = useWords();
  return (
    <div class="acts">
      <ActButton act={{ kind: 'adjust', account: document }} done={again}>
        {words.actAdjust}
      </ActButton>
    </div>
  );
}

interface OverviewProps {
  document: AccountDocument;
  /** The time that is looked at; null: now. */
  at: string | null;
  rows: Pages<StatementPage>;
  news: News;
  /** Reads the page afresh. */
  again(): void;
}

function Overview({ document, at, rows, news, again }: OverviewProps) {
  const then = rows.pages[0]?.balances ?? null;
  return (
    <>
      <Balance account={document} balances={at === null ? document.balances : then} at={at} />
      <div class="columns">
        <Statement document={document} at={at} rows={rows} news={at === null ? news : null} />
        <div class="column">
          <Health document={document} again={again} />
          <Settings document={document} again={again} />
          <Journal document={document} />
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
      <p>{fill(words.noAccount, { id })}</p>
      <p>
        <a href="/accounts">{words.accounts}</a>
      </p>
    </div>
  );
}

export function Account({ id }: { id: string }) {
  const words = useWords();
  const { query } = usePlace();
  const [at, door] = [timeIn(query.get('at')), query.get('door')];
  const read = useCallback((signal: AbortSignal) => account(id, signal), [id]);
  const key = JSON.stringify([id, at, door]);
  const isOfDoor = door !== null && door !== '';
  const news = useNews({
    ...{ key, query: { account: id }, isList: true },
    counts: (row) => (isOfDoor ? row.door === door : row.change !== 0),
  });
  const isHeld = news.isPaused;
  const everyMs = news.state === 'open' ? LIVE_EVERY_MS : EVERY_MS;
  const reading = useReading({ key: id, read, restsFor: () => everyMs, isHeld });
  const rows = usePages(
    key,
    (before, signal) => statement(id, { before: before ?? at, door }, signal),
    at === null ? news : null,
  );
  useBell(news, reading, { isHeld, restMs: REST_MS, takes: false });
  const document = reading.value;
  const again = () => {
    reading.again();
    rows.reading.again();
  };
  if (reading.error?.status === 404 && document === null) return <Missing id={id} />;
  if (document === null)
    return reading.error === null ? <p class="loading">{words.loading}</p> : <Trouble reading={reading} />;
  return (
    <>
      <Trouble reading={rows.reading.error === null ? reading : rows.reading} news={news} />
      <Heading document={document} reading={reading} news={news} again={again} />
      <Overview document={document} at={at} rows={rows} news={news} again={again} />
    </>
  );
}
