/** Payer data; parts that nobody gave are null. */
export interface Customer {
  name: string | null;
  document: { type: string; number: string } | null;
  email: string | null;
  phone: string | null;
}
