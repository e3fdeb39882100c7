/** The types of a Pix key, as the API spells them. */
export const PIX_KEY_TYPES = ['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP'] as const;

/** One of PIX_KEY_TYPES. */
export type PixKeyType = (typeof PIX_KEY_TYPES)[number];
