/** The statement of the span that the curve shows, as a file. */
import { useState } from 'preact/hooks';
import type { AccountDocument, StatementCsv } from '../../../shapes/account.ts';
import type { Language } from '../../../shapes.ts';
import { ApiError, statementCsv } from '../../api.ts';
import { LOCALES } from '../../parts/time.tsx';
import { usePlace } from '../../router.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { spanIn, windowOf } from './curve.tsx';

/** A file ends with the part that makes so many. */
const MOST_ROWS = 100_000;

const exportWords: Record<Language, { save: string; cut: string }> = {
  pt: {
    save: 'Salvar o extrato como CSV: {span}',
    cut: 'O arquivo tem as primeiras {rows} linhas do período; escolha um período menor para as demais.',
  },
  en: {
    save: 'Save the statement as CSV: {span}',
    cut: 'The file has the first {rows} rows of the span; choose a shorter one for the others.',
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
  const { language } = usePreferences();
  const own = exportWords[language];
  const [isBusy, setBusy] = useState(false);
  const [note, setNote] = useState('');
  const span = spanIn(usePlace().query.get('span'));
  const gather = async () => {
    const { from, to } = windowOf(createdAt, span, at);
    const parts: string[] = [];
    let cursor: string | null = null;
    let count = 0;
    do {
      const { csv, rows, next }: StatementCsv = await statementCsv(id, { from, to, cursor });
      parts.push(csv);
      count += rows;
      cursor = next;
    } while (cursor !== null && count < MOST_ROWS);
    save(`${id} ${from.slice(0, 19).replaceAll(':', '')} ${to.slice(0, 19).replaceAll(':', '')}.csv`, parts);
    setNote(cursor === null ? '' : fill(own.cut, { rows: count.toLocaleString(LOCALES[language]) }));
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
