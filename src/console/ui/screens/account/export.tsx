/** The statement of the span that the curve shows, as a file. */
import { useState } from 'preact/hooks';
import type { AccountDocument, StatementCsv } from '../../../shapes/account.ts';
import type { Language } from '../../../shapes.ts';
import { ApiError, statementCsv } from '../../api.ts';
import { usePlace } from '../../router.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { spanIn, windowOf } from './curve.tsx';

/** A file has so many parts at the most, of 1,000 rows each. */
const MOST_PARTS = 100;

const exportWords: Record<Language, { save: string; cut: string }> = {
  pt: {
    save: 'Salvar o extrato como CSV: {span}',
    cut: 'O arquivo tem as primeiras 100.000 linhas do período; escolha um período menor para as demais.',
  },
  en: {
    save: 'Save the statement as CSV: {span}',
    cut: 'The file has the first 100,000 rows of the span; choose a shorter one for the others.',
  },
};

function save(name: string, parts: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...parts], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has it once the click is over.
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}

export function Export({
  document: { id, createdAt },
  at,
}: {
  document: AccountDocument;
  at: string | null;
}) {
  const words = useWords();
  const own = exportWords[usePreferences().language];
  const [isBusy, setBusy] = useState(false);
  const [note, setNote] = useState('');
  const span = spanIn(usePlace().query.get('span'));
  const gather = async () => {
    const { from, to } = windowOf(createdAt, span, at);
    const parts: string[] = [];
    let cursor: string | null = null;
    do {
      const { csv, next }: StatementCsv = await statementCsv(id, {
        from,
        to,
        cursor,
      });
      parts.push(csv);
      cursor = next;
    } while (cursor !== null && parts.length < MOST_PARTS);
    save(`${id} ${from.slice(0, 19).replaceAll(':', '')} ${to.slice(0, 19).replaceAll(':', '')}.csv`, parts);
    setNote(cursor === null ? '' : own.cut);
  };
  const failed = (error: unknown) =>
    setNote(fill(words.failed, { why: error instanceof ApiError ? error.message : String(error) }));
  const label = fill(own.save, { span: words.span[span] });
  return (
    <>
      <button
        type="button"
        class="quiet"
        title={label}
        aria-label={label}
        disabled={isBusy}
        onClick={() => {
          setBusy(true);
          void gather()
            .catch(failed)
            .finally(() => setBusy(false));
        }}
      >
        CSV
      </button>
      <span role="status">{note}</span>
    </>
  );
}
