/** How an account does, to be read only: its URLs and secrets, its settings, the end of its journal. */
import type { ComponentChildren } from 'preact';
import type { AccountDocument, AccountUrl } from '../../../shapes/account.ts';
import { ActButton } from '../../acts/button.tsx';
import { Beads, UrlFigures } from '../../parts/beads.tsx';
import { CopiedText } from '../../parts/copied.tsx';
import { Icon } from '../../parts/icon.tsx';
import { reais } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Age, Time } from '../../parts/time.tsx';
import { listAddress } from '../../router.ts';
import { fill, useWords } from '../../state/preferences.ts';

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Since when a secret is. */
function Since({ at }: { at: string | null }) {
  const words = useWords();
  return at === null ? <span class="weak">{words.sinceUnknown}</span> : <Age at={at} />;
}

interface Props {
  document: AccountDocument;
  /** Reads the page afresh. */
  again(): void;
}

function Url({ document, url: known, again }: Props & { url: AccountUrl }) {
  const words = useWords();
  const { url, events, secrets, health } = known;
  const before = secrets[1];
  return (
    <li>
      <a class="row-link url" href={listAddress('deliveries', { account: document.id, url })}>
        {url}
      </a>
      {health === null ? (
        <p class="weak">{words.notAttempted}</p>
      ) : (
        <span class="line">
          <Beads recent={health.recent} />
          <UrlFigures health={health} />
        </span>
      )}
      <p class="weak">
        {events === null ? words.allEvents : events.join(', ')} · {words.secretMade}{' '}
        <Since at={secrets[0]?.since ?? null} />
        {before === undefined || before.until === null ? null : (
          <>
            {' · '}
            {words.secretBefore} <Time at={before.until} />
          </>
        )}
      </p>
      <div class="acts over">
        <ActButton act={{ kind: 'rotate', account: document, url }} done={again}>
          {words.actRotate}
        </ActButton>
        <ActButton act={{ kind: 'retryUrl', account: document.id, url, since: null }} done={again}>
          {words.actRetryAll}
        </ActButton>
      </div>
    </li>
  );
}

export function Health({ document, again }: Props) {
  const words = useWords();
  const { urls } = document;
  return (
    <Panel title={words.urls} aside={String(urls.length)} class="urls">
      {urls.length === 0 ? (
        <p class="empty">{words.noAccountUrls}</p>
      ) : (
        <ul>
          {urls.map((url) => (
            <Url key={url.url} document={document} url={url} again={again} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

type Fee = AccountDocument['settings']['fees']['pixIn'];

/** A fee as a sum: its fixed part, its share, and what it is held between. */
function feeText({ fixed, percent, min, max }: Fee): string {
  const share = percent === 0 ? [] : [`${(percent / 100).toLocaleString('pt-BR')} %`];
  const parts = fixed === 0 && share.length > 0 ? share : [reais(fixed), ...share];
  const bounds = [min === 0 ? '' : `≥ ${reais(min)}`, max === null ? '' : `≤ ${reais(max)}`];
  return [parts.join(' + '), ...bounds.filter((text) => text !== '')].join(', ');
}

export function Settings({ document, again }: Props) {
  const words = useWords();
  const { settings, allowedIps, secret } = document;
  const { fees, expiresIn, maxAmount, pixKey, merchantName, merchantCity } = settings;
  return (
    <Panel title={words.settings} class="settings">
      <dl>
        <Fact name={words.clientSecret}>
          <Since at={secret.since} />
        </Fact>
        <Fact name={words.allowedIps}>
          <code>{allowedIps.join(', ')}</code>
        </Fact>
        <Fact name={words.feeOf['pix-in']}>{feeText(fees.pixIn)}</Fact>
        <Fact name={words.feeOf.cashout}>{feeText(fees.cashout)}</Fact>
        <Fact name={words.expiresIn}>
          {expiresIn === null ? words.usual : fill(words.seconds, { n: expiresIn })}
        </Fact>
        <Fact name={words.maxAmount}>{maxAmount === null ? words.usual : reais(maxAmount)}</Fact>
        <Fact name={words.pixKey}>
          <code>{pixKey}</code>
        </Fact>
        <Fact name={words.shownAs}>{`${merchantName}, ${merchantCity}`}</Fact>
      </dl>
      <div class="acts">
        <ActButton act={{ kind: 'settings', account: document }} done={again}>
          {words.actSettings}
        </ActButton>
        <ActButton act={{ kind: 'rotate', account: document, url: null }} done={again}>
          {words.actRotateClient}
        </ActButton>
      </div>
    </Panel>
  );
}

export function Journal({ document: { head, verified } }: { document: AccountDocument }) {
  const words = useWords();
  return (
    <Panel title={words.journal} class="settings">
      {head === null ? (
        <p class="empty">{words.journalEmpty}</p>
      ) : (
        <dl>
          <Fact name={words.lastBatch}>
            {`#${head.seq} · `}
            <Age at={head.at} />
          </Fact>
          <Fact name={words.hash}>
            <CopiedText text={head.hash} what={words.hash} most={20} />
          </Fact>
          {verified === null || (verified.ok && verified.at === null) ? null : (
            <Fact name={words.verified}>
              <span class={verified.ok ? 'good-text' : 'bad-text'}>
                <Icon name={verified.ok ? 'tick' : 'cross'} size={13} />{' '}
                {verified.ok ? words.addsUp : words.addsUpNot}
              </span>{' '}
              {verified.at === null ? null : <Age at={verified.at} />}
            </Fact>
          )}
        </dl>
      )}
    </Panel>
  );
}
