import type { Answer } from '../engine/commands.ts';
import { ApiError, validationError } from './errors.ts';

/** What refuses a refund, whoever orders it; null where nothing of that kind does. */
export function refundRefusal(answer: Answer): ApiError | null {
  switch (answer.kind) {
    case 'notRefundable': {
      const { value: status } = answer.record.snapshot;
      return new ApiError('REFUND_NOT_POSSIBLE', answer.reason, { status });
    }
    case 'refundTooLarge':
      return validationError([{ field: 'amount', message: `must be at most ${answer.most} cents` }]);
    case 'insufficientBalance':
      return new ApiError('INSUFFICIENT_BALANCE', 'The balance is not enough for the refund.');
    default:
      return null;
  }
}
