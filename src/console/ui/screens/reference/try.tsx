/** A request to the API in an account's name: operators only, and only with the sandbox bank. */
import type { TargetedInputEvent } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Tried } from '../../../api-shapes.ts';
import { ApiError, tryApi } from '../../api.ts';
import { Panel } from '../../parts/panel.tsx';
import { fill } from '../../state/preferences.ts';
import { useSession } from '../../state/session.ts';
import type { Operation, Sending } from './document.ts';
import { useReferenceWords } from './words.ts';

interface Credentials {
  by: string;
  clientId: string;
  clientSecret: string;
}

/** Kept from one endpoint to the next, for who put them in, and gone with the page. */
let kept: Credentials = { by: '', clientId: '', clientSecret: '' };

interface InputProps {
  label: string;
  value: string;
  isSecret?: boolean;
  change(value: string): void;
}

function Input({ label, value, isSecret = false, change }: InputProps) {
  const id = useId();
  const common = {
    ...{ id, value, autocomplete: 'off', spellcheck: false },
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => change(event.currentTarget.value),
  };
  return (
    <p class="input">
      <label for={id}>
        <code>{label}</code>
      </label>
      {isSecret ? <input {...common} type="password" /> : <input {...common} type="text" />}
    </p>
  );
}

function BodyInput({ label, value, change }: InputProps) {
  const id = useId();
  return (
    <p class="input">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={Math.min(14, value.split('\n').length + 1)}
        value={value}
        spellcheck={false}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </p>
  );
}

/** A JSON text with its lines; any other as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Answer({ tried: { status, headers, body, ms } }: { tried: Tried }) {
  const words = useReferenceWords();
  const said = fill(words.answered, { status, ms });
  return (
    <div class="tried">
      <p role="status" class={status < 400 ? 'good-text' : 'bad-text'}>
        {said}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys. */}
      <section class="json" tabIndex={0} aria-label={said}>
        <pre>{[...headers.map(([name, value]) => `${name}: ${value}`), '', pretty(body)].join('\n')}</pre>
      </section>
    </div>
  );
}

interface TryProps {
  operation: Operation;
  sending: Sending;
  change(sending: Sending): void;
}

/** Sends what was put in; `send` does nothing while one is on its way. */
function useSending({ operation, sending }: TryProps, { clientId, clientSecret }: Credentials) {
  const session = useSession();
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Tried | string | null>(null);
  const send = async () => {
    if (isBusy) return;
    setBusy(true);
    setOutcome(null);
    const { method, path } = operation;
    const { params, body } = sending;
    const query = Object.fromEntries(Object.entries(sending.query).filter(([, value]) => value !== ''));
    try {
      setOutcome(await tryApi({ method, path, params, query, body, clientId, clientSecret }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) session.ended();
      setOutcome(error instanceof Error && error.message !== '' ? error.message : String(error));
    }
    setBusy(false);
  };
  return { isBusy, outcome, send };
}

function TryForm(props: TryProps) {
  const { operation, sending, change } = props;
  const words = useReferenceWords();
  const { by } = useSession().me;
  const [credentials, setCredentials] = useState<Credentials>(
    kept.by === by ? kept : { by, clientId: '', clientSecret: '' },
  );
  const put = (part: Partial<Credentials>) => {
    kept = { ...credentials, ...part };
    setCredentials(kept);
  };
  const { isBusy, outcome, send } = useSending(props, credentials);
  const { parameters = [] } = operation.endpoint;
  return (
    <form
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <p class="weak">{words.tryNote}</p>
      <div class="inputs">
        <Input label={words.clientId} value={credentials.clientId} change={(clientId) => put({ clientId })} />
        <Input
          label={words.clientSecret}
          value={credentials.clientSecret}
          isSecret
          change={(clientSecret) => put({ clientSecret })}
        />
        {parameters.map(({ name, in: place }) => {
          const kind = place === 'path' ? 'params' : 'query';
          return (
            <Input
              key={name}
              label={name}
              value={sending[kind][name] ?? ''}
              change={(value) => change({ ...sending, [kind]: { ...sending[kind], [name]: value } })}
            />
          );
        })}
      </div>
      {sending.body === null ? null : (
        <BodyInput label={words.body} value={sending.body} change={(body) => change({ ...sending, body })} />
      )}
      <p class="buttons">
        <button type="submit" class="strong" aria-disabled={isBusy}>
          {isBusy ? words.sending : words.send}
        </button>
        <button type="button" class="quiet" onClick={() => put({ clientId: '', clientSecret: '' })}>
          {words.forget}
        </button>
      </p>
      {typeof outcome === 'string' ? (
        <p class="bad-text" role="alert">
          {outcome}
        </p>
      ) : null}
      {outcome === null || typeof outcome === 'string' ? null : <Answer tried={outcome} />}
    </form>
  );
}

export function Try({ canTry, ...props }: TryProps & { canTry: boolean }) {
  const words = useReferenceWords();
  const { me } = useSession();
  const why = !props.operation.isOpen
    ? words.trySigned
    : !canTry
      ? words.trySandbox
      : me.role === 'operator'
        ? null
        : words.tryOperators;
  return (
    <Panel title={words.try} class="try">
      {why === null ? <TryForm {...props} /> : <p class="empty">{why}</p>}
    </Panel>
  );
}
