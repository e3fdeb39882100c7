/** The transaction as it is answered: JSON, to read and to copy. */
import type { TransactionDocument } from '../../../shapes.ts';
import { CopyButton } from '../../parts/copied.tsx';
import { Json } from '../../parts/json.tsx';
import { Panel } from '../../parts/panel.tsx';

function Part({ title, value }: { title: string; value: unknown }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <Panel title={title} aside={<CopyButton text={text} what={title} />}>
      <Json value={value} name={`${title}, JSON`} />
    </Panel>
  );
}

export function Raw({ document }: { document: TransactionDocument }) {
  return (
    <div class="raw">
      <Part title="transaction" value={document.transaction} />
      <Part title="snapshot" value={document.snapshot} />
      <Part title="entries" value={document.entries} />
    </div>
  );
}
