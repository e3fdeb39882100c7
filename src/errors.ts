/** The operator did something that can be mended: one clear sentence, no stack. */
export class OperatorError extends Error {}
