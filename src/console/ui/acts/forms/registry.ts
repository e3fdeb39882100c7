/** Forms that pages bring along. */
import type { FunctionComponent } from 'preact';
import type { Act, ResultProps } from '../shape.ts';
import type { Form } from './parts.tsx';

/** By what is to be done: the form, and what follows an answer that leaves more to be shown. */
export type FormList = {
  [Kind in Act['kind']]?: { form: Form<Kind>; Result?: FunctionComponent<ResultProps> };
};

let list: FormList = {};

export function addForms(more: FormList): void {
  list = { ...list, ...more };
}

export function formList(): FormList {
  return list;
}
