/** Who is signed in, the last used first: a session that isn't its owner's any more is ended here. */
import { useState } from 'preact/hooks';
import type { SessionRow } from '../../../shapes.ts';
import { ApiError, endSession, sessions } from '../../api.ts';
import { Freshness, Trouble } from '../../parts/freshness.tsx';
import { Age, Time } from '../../parts/time.tsx';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';
import { useSession } from '../../state/session.ts';
import { useTitle } from '../../state/title.ts';
import { sessionWords } from './words.ts';

const EVERY_MS = 5_000;

interface EndButtonProps {
  row: SessionRow;
  again(): void;
  onTrouble(why: string): void;
}

function EndButton({ row, again, onTrouble }: EndButtonProps) {
  const words = useWords();
  const own = sessionWords[usePreferences().language];
  const { me, signOut } = useSession();
  const [isBusy, setBusy] = useState(false);
  const mayEnd = row.isOwn || me.role === 'operator';
  const end = async () => {
    if (row.isOwn) return signOut();
    setBusy(true);
    try {
      await endSession(row.id);
      onTrouble('');
    } catch (error) {
      onTrouble(fill(words.failed, { why: error instanceof ApiError ? error.message : String(error) }));
    }
    setBusy(false);
    again();
  };
  return (
    <button
      type="button"
      aria-label={row.isOwn ? words.signOut : fill(own.endOf, { by: row.by })}
      title={mayEnd ? undefined : words.operatorsAct}
      disabled={!mayEnd || isBusy}
      onClick={() => void end()}
    >
      {row.isOwn ? words.signOut : own.end}
    </button>
  );
}

interface TableProps {
  rows: readonly SessionRow[];
  again(): void;
  onTrouble(why: string): void;
}

function Table({ rows, ...row }: TableProps) {
  const words = useWords();
  const own = sessionWords[usePreferences().language];
  return (
    <table class="list sessions">
      <caption class="unseen">{own.title}</caption>
      <thead>
        <tr>
          <th scope="col">{own.by}</th>
          <th scope="col">{own.role}</th>
          <th scope="col">{own.since}</th>
          <th scope="col">{own.used}</th>
          <th scope="col">{own.until}</th>
          <th scope="col">
            <span class="unseen">{own.end}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((each) => (
          <tr key={each.id}>
            <td class="merchant">
              {each.by} {each.isOwn ? <span class="weak">({own.own})</span> : null}
            </td>
            <td>{words.role[each.role]}</td>
            <td>
              <span class="narrow-only weak">{own.since}</span> <Time at={each.since} />
            </td>
            <td>
              <Age at={each.usedAt} />
            </td>
            <td>
              <span class="narrow-only weak">{own.until}</span> <Time at={each.until} />
            </td>
            <td class="number">
              <EndButton row={each} {...row} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Sessions() {
  const words = useWords();
  const own = sessionWords[usePreferences().language];
  useTitle(own.title);
  const [trouble, setTrouble] = useState('');
  const reading = useReading({ key: 'sessions', read: sessions, restsFor: () => EVERY_MS });
  const rows = reading.value?.rows ?? null;
  return (
    <>
      <Trouble reading={reading} />
      <div class="page-title">
        <h1>{own.title}</h1>
        <Freshness reading={reading} everyMs={EVERY_MS} />
      </div>
      <p role="status">{trouble}</p>
      <section class="panel" aria-label={own.title}>
        {rows === null ? (
          <p class="empty">{reading.error === null ? words.loading : ''}</p>
        ) : rows.length === 0 ? (
          <p class="empty">{own.none}</p>
        ) : (
          <Table rows={rows} again={reading.again} onTrouble={setTrouble} />
        )}
        {rows === null || rows.length === 0 ? null : <p class="note-line">{own.note}</p>}
      </section>
    </>
  );
}
