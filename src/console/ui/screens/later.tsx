/** A page whose script comes when it is opened. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { fill, useWords } from '../state/preferences.ts';

interface LaterProps<Props> {
  load(): Promise<FunctionComponent<Props>>;
}

/** Shows the page with what else is given. A new version of the console has no script of an old one any more. */
export function LaterPage<Props extends object>({ load, ...props }: LaterProps<Props> & Props) {
  const words = useWords();
  const [page, setPage] = useState<{ Page: FunctionComponent<Props> } | null>(null);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    setMissing(false);
    load().then(
      (Page) => setPage({ Page }),
      () => setMissing(true),
    );
  }, [load]);
  if (page !== null) return <page.Page {...(props as unknown as Props)} />;
  if (!isMissing) return <p class="loading">{words.loading}</p>;
  return (
    <div class="nothing">
      <p role="alert">{fill(words.failed, { why: words.unreachable })}</p>
      <button type="button" onClick={() => location.reload()}>
        {words.tryAgain}
      </button>
    </div>
  );
}
