/** An account's balance is adjusted, its settings change, its secrets are rotated. */
import type { AccountDocument } from '../../../shapes/account.ts';
import type { PresentSettings } from '../../../shapes/acts.ts';
import { reais } from '../../parts/money.tsx';
import { fill } from '../../state/preferences.ts';
import type { Plan, Situation } from '../shape.ts';
import { amountText, byOf, Choice, centsOf, Field, type Form, opsEntry, textOf } from './parts.tsx';
import type { FormList } from './registry.ts';
import { Secrets } from './secrets.tsx';
import { wordsOf } from './words.ts';

function pathOf({ id }: AccountDocument, rest = ''): string {
  return `/accounts/${encodeURIComponent(id)}${rest}`;
}

const adjustForm: Form<'adjust'> = {
  plan(situation, { account }): Plan {
    const words = wordsOf(situation.language).adjust;
    const { id, reason, values } = situation;
    const given = centsOf(textOf(values, 'amount'));
    const amount = given === 0 ? null : given;
    const allowNegative = values.allowNegative === true;
    const before = account.balances.available;
    const after = before + (amount ?? 0);
    const isRight = amount !== null && (after >= 0 || amount > 0 || allowNegative);
    const says =
      amount === null
        ? []
        : [
            fill(words.says, { before: reais(before), after: reais(after) }),
            fill(words.reverse, { amount: reais(-amount) }),
          ];
    const body = { id, amount, allowNegative, reason };
    return {
      title: words.title,
      verb: fill(words.verb, { amount: amount === null ? '…' : reais(amount) }),
      says,
      request: isRight ? { method: 'POST', path: pathOf(account, '/adjust'), body } : null,
      entry: {
        message: { type: 'ADJUST', id, door: 'ops', data: { amount, reason }, by: byOf(situation) },
        postings: [
          { leg: 'bank', amount: -(amount ?? 0) },
          { leg: 'available', amount: amount ?? 0 },
        ],
      },
    };
  },
  Fields({ situation }) {
    const words = wordsOf(situation.language).adjust;
    return (
      <>
        <Field situation={situation} name="amount" label={words.amount} required />
        <Check situation={situation} name="allowNegative" label={words.allowNegative} />
      </>
    );
  },
};

function Check({ situation, name, label }: { situation: Situation; name: string; label: string }) {
  const { values, set } = situation;
  return (
    <fieldset>
      <label>
        <input
          type="checkbox"
          checked={values[name] === true}
          onChange={(event) => set({ [name]: event.currentTarget.checked })}
        />
        {label}
      </label>
    </fieldset>
  );
}

interface Webhook {
  url: string;
  events: string[] | null;
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function webhookText({ urls }: PresentSettings): string {
  return urls.map(({ url, events }) => [url, ...(events ?? [])].join(', ')).join('\n');
}

/** A line for each: a URL, and behind commas the events that it gets. */
function webhooksIn(text: string): Webhook[] {
  return linesOf(text).map((line) => {
    const [url = '', ...events] = line.split(',').map((part) => part.trim());
    return { url, events: events.length === 0 ? null : events };
  });
}

/** What the account is now, where an answer has told it, else as the page knows it. */
function presentOf({ values }: Situation, { settings, ...account }: AccountDocument): PresentSettings {
  const told = values.present as PresentSettings | undefined;
  return told ?? { ...account, maxAmount: settings.maxAmount };
}

/** The fields as they stand before anything is changed; the Pix key is shown masked alone, and typed anew. */
function usualOf(present: PresentSettings): Record<string, string> {
  const { status, userStatus, allowedIps, maxAmount } = present;
  return {
    ...{ status, userStatus, allowedIps: allowedIps.join('\n'), webhooks: webhookText(present) },
    maxAmount: maxAmount === null ? '' : amountText(maxAmount),
    pixKey: '',
  };
}

function changeOf(name: string, text: string): unknown {
  if (name === 'allowedIps') return linesOf(text);
  if (name === 'webhooks') return webhooksIn(text);
  if (name === 'pixKey') return text.trim();
  if (name !== 'maxAmount') return text;
  return text.trim() === '' ? null : (centsOf(text) ?? undefined);
}

/** What differs from the account as it is; null where a field can't be read. */
function changesOf({ values }: Situation, present: PresentSettings): Record<string, unknown> | null {
  const changes: Record<string, unknown> = {};
  for (const [name, usual] of Object.entries(usualOf(present))) {
    const text = values[name];
    if (typeof text !== 'string' || text.trim() === usual) continue;
    const change = changeOf(name, text);
    if (change === undefined) return null;
    changes[name] = change;
  }
  if (values.derivedPixKey === true) changes.pixKey = null;
  return changes;
}

function Lines({
  situation,
  name,
  label,
  usual,
}: {
  situation: Situation;
  name: string;
  label: string;
  usual: string;
}) {
  const { values, set } = situation;
  return (
    <label class="field">
      <span>{label}</span>
      <textarea
        rows={Math.min(6, Math.max(2, usual.split('\n').length + 1))}
        spellcheck={false}
        value={values[name] === undefined ? usual : textOf(values, name)}
        onInput={(event) => set({ [name]: event.currentTarget.value })}
      />
    </label>
  );
}

const NAMES = ['status', 'userStatus', 'webhooks', 'allowedIps', 'maxAmount'] as const;

/** What somebody else has made of the fields that were typed into meanwhile. */
function Now({ situation, usual }: { situation: Situation; usual: Record<string, string> }) {
  const words = wordsOf(situation.language).settings;
  const { values } = situation;
  const typed = NAMES.filter((name) => values[name] !== undefined && values[name] !== usual[name]);
  return (
    <ul class="present">
      {typed.map((name) => (
        <li key={name}>
          {fill(words.now, { field: words[name] })}
          <br />
          <code>{usual[name] === '' ? '—' : usual[name]?.replaceAll('\n', '; ')}</code>
        </li>
      ))}
    </ul>
  );
}

const settingsForm: Form<'settings'> = {
  plan(situation, { account }): Plan {
    const words = wordsOf(situation.language).settings;
    const present = presentOf(situation, account);
    const { version, urls } = present;
    const changes = changesOf(situation, present);
    const names = Object.keys(changes ?? {});
    const { id, reason } = situation;
    const hooks = changes?.webhooks as Webhook[] | undefined;
    const isOld = (url: string) => urls.some((known) => known.url === url);
    const says = [names.length === 0 ? words.nothing : fill(words.says, { names: names.join(', ') })];
    if (hooks !== undefined && urls.some(({ url }) => !hooks.some((hook) => hook.url === url)))
      says.push(words.removed);
    if (hooks?.some(({ url }) => !isOld(url)) === true) says.push(words.added);
    if (names.length > 0) says.push(words.reverse);
    return {
      ...{ title: words.title, verb: words.verb, says },
      request:
        names.length === 0
          ? null
          : { method: 'PATCH', path: pathOf(account), body: { id, reason, version, ...changes } },
      entry: opsEntry(situation, 'settings', changes ?? {}),
    };
  },
  Fields({ situation, act: { account } }) {
    const words = wordsOf(situation.language).settings;
    const usual = usualOf(presentOf(situation, account));
    const shown = (name: string) =>
      situation.values[name] === undefined ? (usual[name] ?? '') : textOf(situation.values, name);
    const options = (['active', 'inactive'] as const).map((value) => ({
      value,
      label: words.activity[value],
    }));
    return (
      <>
        {situation.values.present === undefined ? null : <Now situation={situation} usual={usual} />}
        {(['status', 'userStatus'] as const).map((name) => (
          <Choice
            key={name}
            situation={situation}
            name={name}
            legend={words[name]}
            chosen={shown(name)}
            options={options}
          />
        ))}
        {(['webhooks', 'allowedIps'] as const).map((name) => (
          <Lines key={name} situation={situation} name={name} label={words[name]} usual={usual[name] ?? ''} />
        ))}
        <Field situation={situation} name="maxAmount" label={words.maxAmount} usual={usual.maxAmount ?? ''} />
        <Field
          situation={situation}
          name="pixKey"
          label={fill(words.pixKey, { key: account.settings.pixKey })}
        />
        <Check situation={situation} name="derivedPixKey" label={words.derivedPixKey} />
      </>
    );
  },
};

const rotateForm: Form<'rotate'> = {
  plan(situation, { account, url }): Plan {
    const words = wordsOf(situation.language).rotate;
    const { id, reason } = situation;
    // A new secret that somebody else was shown meanwhile would end with this one.
    const { version } = presentOf(situation, account);
    const body = url === null ? { id, reason, version } : { id, url, reason, version };
    const data = url === null ? { secret: 'client' } : { secret: 'webhook', url };
    return {
      ...{ title: words.title, verb: words.verb },
      says: [
        url === null ? words.client : fill(words.url, { url }),
        ...(situation.values.present === undefined ? [] : [words.meanwhile]),
        words.final,
      ],
      request: { method: 'POST', path: pathOf(account, '/rotate'), body },
      entry: opsEntry(situation, 'rotate', data),
    };
  },
  Fields: null,
};

export const accountForms: FormList = {
  adjust: { form: adjustForm },
  settings: { form: settingsForm, Result: Secrets },
  rotate: { form: rotateForm, Result: Secrets },
};
