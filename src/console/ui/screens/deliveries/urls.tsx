/** The URLs, those that fail first: a press shows what went there. */
import type { UrlList } from '../../../shapes/deliveries.ts';
import { ActButton } from '../../acts/button.tsx';
import { Beads, UrlFigures } from '../../parts/beads.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Age, timeText } from '../../parts/time.tsx';
import { listAddress } from '../../router.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import type { Reading } from '../../state/reading.ts';

interface RowProps {
  health: UrlList['urls'][number];
  isChosen: boolean;
  /** Reads the page afresh. */
  again(): void;
}

function Row({ health, isChosen, again }: RowProps) {
  const words = useWords();
  const { account, accountName, url, recent, lastAt } = health;
  return (
    <li>
      <span class="line">
        <a
          class="row-link url"
          href={listAddress('deliveries', { account, url })}
          aria-current={isChosen ? 'true' : undefined}
          data-row
        >
          {url}
        </a>
        <span>
          <bdi>{accountName}</bdi> <Age at={lastAt} />
        </span>
      </span>
      <span class="line">
        <Beads recent={recent} />
        <UrlFigures health={health} />
      </span>
      <div class="acts over">
        <ActButton act={{ kind: 'retryUrl', account, url, since: null }} done={again}>
          <Icon name="again" />
          {words.actRetryAll}
        </ActButton>
      </div>
    </li>
  );
}

/** What the list is of: since when, and that other servers have their own. */
function Note({ list }: { list: UrlList }) {
  const words = useWords();
  const { language } = usePreferences();
  return (
    <p class="note-line weak">
      {fill(words.urlsSince, { time: timeText(language, list.since, 'full') })}
      {list.shared ? ` ${words.urlsShared}` : ''}
      {list.others === 0 ? '' : ` ${fill(words.urlsMore, { n: list.others })}`}
    </p>
  );
}

interface UrlsProps {
  reading: Reading<UrlList>;
  chosen: string;
  /** Reads the page afresh. */
  again(): void;
}

export function Urls({ reading: { value, error }, chosen, again }: UrlsProps) {
  const words = useWords();
  return (
    <Panel title={words.byUrl} class="urls">
      {value === null ? (
        <p class="empty">{error === null ? words.loading : fill(words.failed, { why: error.message })}</p>
      ) : (
        <>
          {value.urls.length === 0 ? (
            <p class="empty">{words.noUrls}</p>
          ) : (
            <ul>
              {value.urls.map((health) => (
                <Row
                  key={`${health.account} ${health.url}`}
                  health={health}
                  isChosen={health.url === chosen}
                  again={again}
                />
              ))}
            </ul>
          )}
          <Note list={value} />
        </>
      )}
    </Panel>
  );
}
