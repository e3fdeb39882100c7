/** The merchants' API, made from its own document: its endpoints, and the one that was chosen. */
import type { ApiReference } from '../../../api-shapes.ts';
import { reference as readReference } from '../../api.ts';
import { CopiedText } from '../../parts/copied.tsx';
import { Trouble } from '../../parts/freshness.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';
import { useTitle } from '../../state/title.ts';
import { type Operation, operationsOf } from './document.ts';
import { EndpointPage } from './endpoint.tsx';
import { Fields } from './fields.tsx';
import { useReferenceWords } from './words.ts';

/** The document stays the same as long as its server. */
const NEVER = () => null;

function List({ operations, chosen }: { operations: readonly Operation[]; chosen: string | null }) {
  const words = useReferenceWords();
  return (
    <nav class="panel endpoints" aria-label={words.endpoints}>
      {operations.map(({ slug, method, path, isWebhook }) => (
        <a
          key={slug}
          href={`/reference/${slug}`}
          aria-current={slug === chosen ? 'page' : undefined}
          data-row
        >
          <span class={`method ${method}`}>{isWebhook ? words.webhook : method.toUpperCase()}</span>{' '}
          <code>{path}</code>
        </a>
      ))}
    </nav>
  );
}

function Overview({ reference: { document, base } }: { reference: ApiReference }) {
  const words = useReferenceWords();
  return (
    <div class="endpoint">
      <Panel title={words.base}>
        <div class="about">
          <p>
            <CopiedText text={base} what={words.base} />
          </p>
          <p lang="en">{document.info.description}</p>
          <p>{words.auth}</p>
          <p class="weak">{words.choose}</p>
        </div>
      </Panel>
      {document.components.schemas.Error === undefined ? null : (
        <Panel title={words.errorObject}>
          <Fields document={document} schema={document.components.schemas.Error} />
        </Panel>
      )}
    </div>
  );
}

function Chosen({ reference, slug }: { reference: ApiReference; slug: string }) {
  const words = useReferenceWords();
  const operation = operationsOf(reference.document).find((each) => each.slug === slug);
  return (
    <div>
      <p class="all-endpoints">
        <a href="/reference">← {words.all}</a>
      </p>
      {operation === undefined ? (
        <p class="empty">{words.none}</p>
      ) : (
        <EndpointPage key={slug} reference={reference} operation={operation} />
      )}
    </div>
  );
}

export function Reference({ endpoint }: { endpoint: string | null }) {
  const { loading } = useWords();
  const words = useReferenceWords();
  useTitle(words.title);
  const reading = useReading({ key: 'reference', read: readReference, restsFor: NEVER });
  const { value, error } = reading;
  return (
    <>
      <Trouble reading={reading} />
      <div class="page-title">
        <h1>{words.title}</h1>
        <p class="weak">{words.descriptions}</p>
      </div>
      {value === null ? (
        <p class="empty">{error === null ? loading : ''}</p>
      ) : (
        <div class={endpoint === null ? 'manual' : 'manual chosen'}>
          <List operations={operationsOf(value.document)} chosen={endpoint} />
          {endpoint === null ? <Overview reference={value} /> : <Chosen reference={value} slug={endpoint} />}
        </div>
      )}
    </>
  );
}
