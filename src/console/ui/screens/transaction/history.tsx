/** The history, newest first: what came, through which door, what it did, or why it did nothing. */
import { keptIn } from '../../../../domain/sentences/kept.ts';
import type { By, Entry, Posting } from '../../../shapes.ts';
import type { KeyedEntry } from '../../chart/path.ts';
import { Chip, StatusChip } from '../../parts/chip.tsx';
import { CopiedText, shortened } from '../../parts/copied.tsx';
import { Icon } from '../../parts/icon.tsx';
import { inOrder, Movement, reais } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { fill, useWords } from '../../state/preferences.ts';
import type { Scrubbed } from './statechart.tsx';

/** How the account's balance changed by an entry; null where it didn't. */
function availableOf(postings: readonly Posting[]): number | null {
  const parts = postings.filter(({ leg }) => leg === 'available');
  return parts.length === 0 ? null : parts.reduce((sum, { amount }) => sum + amount, 0);
}

export function SumsToZero({ postings }: { postings: readonly Posting[] }) {
  const words = useWords();
  const sum = postings.reduce((total, { amount }) => total + amount, 0);
  if (sum !== 0) {
    return (
      <span class="bad-text">
        <Icon name="cross" size={13} /> {fill(words.sumsToWrong, { sum: reais(sum) })}
      </span>
    );
  }
  return (
    <span class="good-text">
      <Icon name="tick" size={13} /> {words.sumsToZero}
    </span>
  );
}

function Change({ entry: { from, to, refusal } }: { entry: Entry }) {
  const words = useWords();
  if (refusal !== null) return <Chip family="bad" word={words.refusedEntry} />;
  if (from === to) {
    return (
      <span class="change">
        <StatusChip status={to} />
        <span class="weak">
          <Icon name="stay" size={13} /> {words.stays}
        </span>
      </span>
    );
  }
  return (
    <span class="change">
      {from === null ? null : (
        <>
          <StatusChip status={from} />
          <Icon name="right" size={12} />
        </>
      )}
      <StatusChip status={to} />
    </span>
  );
}

function Legs({ entry: { postings, balance } }: { entry: Entry }) {
  const words = useWords();
  const legs: Readonly<Record<string, string>> = words.leg;
  if (postings.length === 0) return null;
  return (
    <p class="legs">
      {inOrder(postings).map(({ leg, amount }, index) => (
        <span key={`${leg} ${index}`}>
          {legs[leg] ?? leg} <Movement cents={amount} />
        </span>
      ))}
      <SumsToZero postings={postings} />
      {balance === null ? null : <span>{`${words.balanceAfter} ${reais(balance)}`}</span>}
    </p>
  );
}

/** The Pix that the message is about: of a payment that was refused nothing else names it. */
function pixOf({ message: { data } }: Entry): string | null {
  const { endToEndId } = (data ?? {}) as { endToEndId?: unknown };
  return typeof endToEndId === 'string' ? endToEndId : null;
}

/** What the entry is known as: its events, its message and its Pix. */
function Ids({ entry }: { entry: Entry }) {
  const words = useWords();
  const { events, message } = entry;
  const pix = pixOf(entry);
  if (events.length === 0 && message.id === '' && pix === null) return null;
  return (
    <p class="ids weak">
      {events.map(({ id, name }) => (
        <code key={id} title={id}>
          {name}
        </code>
      ))}
      {message.id === '' ? null : (
        <code title={`${words.messageId} ${message.id}`}>{shortened(message.id, 40)}</code>
      )}
      {pix === null ? null : <CopiedText text={pix} what={words.endToEnd} />}
    </p>
  );
}

/** Who of ops sent it, and why. */
function Signed({ by: { name, role, reason } }: { by: By }) {
  const words = useWords();
  const roles: Readonly<Record<string, string>> = words.role;
  return (
    <p>
      <bdi>{name}</bdi> <span class="weak">({roles[role] ?? role})</span>
      {reason === null ? null : <q>{reason}</q>}
    </p>
  );
}

function Row({ entry, scrubbed }: { entry: KeyedEntry; scrubbed: Scrubbed & Pointing }) {
  const words = useWords();
  const doors: Readonly<Record<string, string>> = words.door;
  const { key, seq, at, door, by, message, refusal, postings } = entry;
  const isShown = scrubbed.key === key;
  const available = availableOf(postings);
  return (
    <li
      class={`entry${isShown ? ' shown' : ''}${refusal === null ? '' : ' refused'}`}
      onPointerEnter={() => scrubbed.point(key)}
      onPointerLeave={() => scrubbed.point(null)}
    >
      <span class="when">
        <Time at={at} form="exact" />
      </span>
      <div class="what">
        <p class="first">
          <button
            type="button"
            class="message"
            data-row
            aria-pressed={isShown}
            aria-label={`${message.type}. ${words.entryLabel}`}
            disabled={refusal !== null}
            onClick={() => scrubbed.show(isShown ? null : key)}
            onFocus={() => scrubbed.point(key)}
            onBlur={() => scrubbed.point(null)}
          >
            {message.type}
          </button>
          <span class="door">{doors[door] ?? door}</span>
          <Change entry={entry} />
          <span class="end">
            {available === null ? null : <Movement cents={available} />}
            <span class="weak">#{seq}</span>
          </span>
        </p>
        {refusal === null ? null : (
          <p class="bad-text">
            {keptIn(words.refusals, refusal)} {refusal.code === null ? null : <code>{refusal.code}</code>}
          </p>
        )}
        {by === null ? null : <Signed by={by} />}
        <Legs entry={entry} />
        <Ids entry={entry} />
      </div>
    </li>
  );
}

interface Pointing {
  point(key: string | null): void;
}

interface HistoryProps {
  entries: readonly KeyedEntry[];
  scrubbed: Scrubbed & Pointing;
  /** Loads what is older; null where these are all. */
  older: (() => void) | null;
}

export function History({ entries, scrubbed, older }: HistoryProps) {
  const words = useWords();
  return (
    <Panel
      title={words.history}
      aside={older === null ? entries.length : `${entries.length}+`}
      class="history"
    >
      <ol>
        {entries.map((entry) => (
          <Row key={entry.key} entry={entry} scrubbed={scrubbed} />
        ))}
      </ol>
      {older === null ? null : (
        <p class="more">
          <button type="button" onClick={older}>
            {words.older}
          </button>
        </p>
      )}
    </Panel>
  );
}
