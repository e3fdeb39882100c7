/** What all forms share. */
import type { ComponentChildren, FunctionComponent } from 'preact';
import type { Act, ActOf, Plan, Situation, Values } from '../shape.ts';

/** One kind of act: its fields, and what they come to. */
export interface Form<Kind extends Act['kind']> {
  plan(situation: Situation, act: ActOf<Kind>): Plan;
  Fields: FunctionComponent<{ situation: Situation; act: ActOf<Kind> }> | null;
}

export function textOf(values: Values, name: string): string {
  const value = values[name];
  return typeof value === 'string' ? value : '';
}

/** Whole cents of `1.234,56` or `-10`; null where it is no such amount: a wrong point is never guessed at. */
export function centsOf(text: string): number | null {
  const [, minus, whole = '', part = ''] =
    /^([-−]?)(\d{1,12}|\d{1,3}(?:\.\d{3}){1,3})(?:,(\d{2}))?$/.exec(text.trim()) ?? [];
  if (minus === undefined) return null;
  const cents = Number(whole.replaceAll('.', '')) * 100 + Number(part === '' ? 0 : part);
  return minus === '' ? cents : -cents;
}

/** Cents as that field takes them. */
export function amountText(cents: number): string {
  return (cents / 100).toLocaleString('pt-BR', { minimumFractionDigits: 2, useGrouping: false });
}

/** Who does it, as the entry names them. */
export function byOf({ me, reason }: Situation): object {
  return { name: me.by, role: me.role, reason };
}

/** An entry of the account itself. */
export function opsEntry(situation: Situation, action: string, data: object): object {
  return {
    message: { type: 'OPS', id: situation.id, door: 'ops', data: { action, data }, by: byOf(situation) },
  };
}

interface FieldProps {
  situation: Situation;
  name: string;
  label: string;
  required?: boolean;
  isTime?: boolean;
  /** What the field has before anything is put into it. */
  usual?: string;
}

export function Field({ situation: { values, set }, name, label, required, isTime, usual = '' }: FieldProps) {
  const value = values[name] === undefined ? usual : textOf(values, name);
  const change = (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value });
  if (isTime === true)
    return (
      <label class="field">
        <span>{label}</span>
        <input type="datetime-local" step="1" required={required} value={value} onInput={change} />
      </label>
    );
  return (
    <label class="field">
      <span>{label}</span>
      <input required={required} autocomplete="off" value={value} onInput={change} />
    </label>
  );
}

interface ChoiceProps {
  situation: Situation;
  name: string;
  legend: string;
  chosen: string;
  options: readonly { value: string; label: ComponentChildren }[];
}

export function Choice({ situation: { set }, name, legend, chosen, options }: ChoiceProps) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {options.map(({ value, label }) => (
        <label key={value}>
          <input
            type="radio"
            name={name}
            value={value}
            checked={value === chosen}
            onChange={() => set({ [name]: value })}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
