/** The bodies of what operators do, checked: a field that isn't known is refused, a null counts as left out. */
import * as z from 'zod';
import { MAX_AMOUNT } from '../../../domain/money.ts';
import { codePoints, isPrintable, isUuidV4 } from '../../../domain/text.ts';
import { ATTENTION_KINDS } from '../../../engine/journal.ts';
import { timeIn } from '../query.ts';

const MOST_IDS = 100;
const MOST_ID = 255;
/** No item has a longer one. */
const MOST_NAME = 400;
const MOST_REASON = 500;
const MOST_TEXT = 2_048;
const MOST_PER_SECOND = 50;

function text(most: number) {
  const message = `must be text of 1 to ${most} printable characters`;
  const isRight = (value: string): boolean =>
    value.trim() !== '' && codePoints(value) <= most && isPrintable(value);
  return z.string({ error: message }).refine(isRight, message);
}

function whole(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`;
  const isRight = (value: number): boolean => Number.isSafeInteger(value) && value >= least && value <= most;
  return z.number({ error: message }).refine(isRight, message);
}

/** What may be left out is null then. */
function optional<Value>(schema: z.ZodType<Value>) {
  return schema.nullish().transform((value) => value ?? null);
}

const flag = optional(z.boolean({ error: 'must be true or false' }));
const ids = z
  .array(text(MOST_NAME), { error: 'must be a list of ids' })
  .min(1, 'must have an id')
  .max(MOST_IDS, `must have at most ${MOST_IDS} ids`);
const parts = { id: text(MOST_ID), reason: text(MOST_REASON) };

/** Of the account that was looked at. */
const version = optional(whole(1, Number.MAX_SAFE_INTEGER));

const data = optional(
  z.custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  ),
);

export const messageBody = z.strictObject({ ...parts, type: text(40), data });
export const refundBody = z.strictObject({
  ...parts,
  id: z.string({ error: 'must be a UUID v4' }).refine(isUuidV4, 'must be a UUID v4'),
  amount: optional(whole(1, MAX_AMOUNT)),
});
export const cancelBody = z.strictObject(parts);
export const retryIdsBody = z.strictObject({ ...parts, ids });
export const retryUrlBody = z.strictObject({
  ...parts,
  account: optional(text(100)),
  url: text(MOST_TEXT),
  since: optional(
    z
      .string({ error: 'must be a time' })
      .refine((value) => timeIn(value) !== null, 'must be a time such as 2026-11-22T18:00:00Z')
      .transform((value) => new Date(timeIn(value) ?? 0).toISOString()),
  ),
  perSecond: optional(whole(1, MOST_PER_SECOND)),
  first: flag,
});
export const doneBody = z.strictObject({
  ...{ ...parts, ids },
  kind: z.enum(ATTENTION_KINDS, { error: `must be one of ${ATTENTION_KINDS.join(', ')}` }),
});
export const adjustBody = z.strictObject({
  ...parts,
  amount: whole(-MAX_AMOUNT, MAX_AMOUNT).refine((amount) => amount !== 0, 'must not be 0'),
  allowNegative: flag,
});
/** What is to be set is checked where it is done, which knows to where webhooks may go. */
export const settingsBody = z.looseObject({ ...parts, version });
export const rotateBody = z.strictObject({ ...parts, version, url: optional(text(MOST_TEXT)) });
