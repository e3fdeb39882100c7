/** Payer data; parts that nobody gave are null. */
export interface Customer {
  readonly name: string | null;
  readonly document: { readonly type: string; readonly number: string } | null;
  readonly email: string | null;
  readonly phone: string | null;
}
