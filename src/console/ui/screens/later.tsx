/** A page whose script comes when it is opened. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { fill, useWords } from '../state/preferences.ts';

type Load<Props> = () => Promise<FunctionComponent<Props>>;

/** What came, by what loads it; null: its script didn't come. A page that is opened again is there at once. */
const come = new Map<unknown, unknown>();

/** Shows the page with what else is given. A new version of the console has no script of an old one any more. */
export function LaterPage<Props extends object>({ load, ...props }: { load: Load<Props> } & Props) {
  const words = useWords();
  const [, look] = useState({});
  useEffect(() => {
    const settle = (Page: FunctionComponent<Props> | null) => {
      come.set(load, Page);
      look({});
    };
    if (!come.get(load)) load().then(settle, () => settle(null));
  }, [load]);
  const Page = come.get(load) as FunctionComponent<Props> | null | undefined;
  if (Page === undefined) return <p class="loading">{words.loading}</p>;
  if (Page !== null) return <Page {...(props as unknown as Props)} />;
  return (
    <div class="nothing">
      <p role="alert">{fill(words.failed, { why: words.unreachable })}</p>
      <button type="button" onClick={() => location.reload()}>
        {words.tryAgain}
      </button>
    </div>
  );
}
