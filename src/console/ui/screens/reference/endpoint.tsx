/** One endpoint: what it takes, what it answers, how it fails, and the request that is written meanwhile. */
import { useState } from 'preact/hooks';
import type { ApiDocument, ApiReference } from '../../../api-shapes.ts';
import { CopyButton } from '../../parts/copied.tsx';
import { Panel } from '../../parts/panel.tsx';
import { fill } from '../../state/preferences.ts';
import { codesOf, curlOf, exampleOf, jsonOf, type Operation, type Sending } from './document.ts';
import { FieldItem, Fields } from './fields.tsx';
import { Try } from './try.tsx';
import { useReferenceWords } from './words.ts';

function isError(status: string): boolean {
  return Number(status) >= 400;
}

function Errors({ operation }: { operation: Operation }) {
  const words = useReferenceWords();
  const errors = Object.entries(operation.endpoint.responses).filter(([status]) => isError(status));
  if (errors.length === 0) return null;
  return (
    <Panel title={words.errors}>
      <table class="errors">
        <thead>
          <tr>
            <th scope="col">{words.errorStatus}</th>
            <th scope="col">{words.errorCodes}</th>
          </tr>
        </thead>
        <tbody>
          {errors.map(([status, { description }]) => (
            <tr key={status}>
              <th scope="row">{status}</th>
              <td>
                {codesOf(description).map((code) => (
                  <code key={code}>{code}</code>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Answers({ document, operation }: { document: ApiDocument; operation: Operation }) {
  const words = useReferenceWords();
  const answers = Object.entries(operation.endpoint.responses).filter(([status]) => !isError(status));
  return (
    <>
      {answers.map(([status, { description, content }]) => {
        const schema = jsonOf(content);
        return (
          <Panel
            key={status}
            title={fill(words.answer, { status })}
            aside={Object.keys(content ?? {}).join(', ')}
          >
            {schema === null ? (
              <p class="empty" lang="en">
                {description}
              </p>
            ) : (
              <Fields document={document} schema={schema} />
            )}
          </Panel>
        );
      })}
    </>
  );
}

function Parameters({ operation }: { operation: Operation }) {
  const words = useReferenceWords();
  const { parameters = [] } = operation.endpoint;
  if (parameters.length === 0) return null;
  const where: Readonly<Record<string, string>> = words.in;
  return (
    <Panel title={words.parameters}>
      <ul class="fields">
        {parameters.map(({ name, in: place, required, schema }) => (
          <FieldItem
            key={name}
            name={name}
            schema={schema}
            types={[schema.type ?? 'string'].flat()}
            isRequired={required === true}
            where={where[place] ?? place}
          />
        ))}
      </ul>
    </Panel>
  );
}

function Body({ document, operation }: { document: ApiDocument; operation: Operation }) {
  const words = useReferenceWords();
  const { requestBody } = operation.endpoint;
  const schema = jsonOf(requestBody?.content);
  if (schema === null) return null;
  return (
    <Panel title={words.body} aside={requestBody?.required === true ? undefined : words.bodyOptional}>
      <Fields document={document} schema={schema} isAsked={!operation.isWebhook} />
    </Panel>
  );
}

function Curl({ text }: { text: string }) {
  const words = useReferenceWords();
  return (
    <Panel title={words.example} aside={<CopyButton text={text} what="curl" />}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys. */}
      <section class="json" tabIndex={0} aria-label="curl">
        <pre>{text}</pre>
      </section>
      <p class="empty">{fill(words.exampleNote, { variable: '$PIXSTATE' })}</p>
    </Panel>
  );
}

function firstSending(document: ApiDocument, { endpoint }: Operation): Sending {
  const schema = jsonOf(endpoint.requestBody?.content);
  const body = schema === null ? null : JSON.stringify(exampleOf(document, schema), null, 2);
  return { params: {}, query: {}, body };
}

export function EndpointPage({ reference, operation }: { reference: ApiReference; operation: Operation }) {
  const words = useReferenceWords();
  const { document, base } = reference;
  const { method, path, endpoint, isWebhook } = operation;
  const [sending, setSending] = useState<Sending>(() => firstSending(document, operation));
  return (
    <article class="endpoint">
      <header>
        <h2 class="endpoint-name">
          <span class={`method ${method}`}>{isWebhook ? words.webhook : method.toUpperCase()}</span>{' '}
          <span class="mono">{path}</span>
        </h2>
        <p lang="en">{endpoint.summary}</p>
      </header>
      <Parameters operation={operation} />
      <Body document={document} operation={operation} />
      {isWebhook ? null : (
        <>
          <Curl text={curlOf(base, operation, sending)} />
          <Try canTry={reference.canTry} operation={operation} sending={sending} change={setSending} />
        </>
      )}
      <Answers document={document} operation={operation} />
      <Errors operation={operation} />
    </article>
  );
}
