/** The Pix keys of the bank's customer. */

/** That of accounts without one of their own. */
export const KEY = 'loja@example.com';
/** Another one, that ops may give an account. */
export const OTHER_KEY = 'outra@example.com';
