import { isValid as isValidCnpj } from '@fnando/cnpj';
import { isValid as isValidCpf } from '@fnando/cpf';

// The libraries strip punctuation and change case before they look, so the strict form is checked here.
const CPF_FORM = /^\d{11}$/;
const CNPJ_FORM = /^[0-9A-Z]{12}\d{2}$/;

/** Whether the value is a CPF of exactly 11 digits with right check digits; all digits alike is wrong. */
export function isCpf(value: string): boolean {
  return CPF_FORM.test(value) && isValidCpf(value);
}

/**
 * Whether the value is a CNPJ of 14 characters, upper case, with right check digits; all alike is wrong.
 * The first twelve may be letters since July 2026: modulo 11 over (character code - 48).
 */
export function isCnpj(value: string): boolean {
  return CNPJ_FORM.test(value) && isValidCnpj(value);
}
