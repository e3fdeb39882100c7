/** What can be done to a transaction: the arrows of its chart open the same dialog. */
import type { TransactionDocument } from '../../../shapes.ts';
import { ActButton } from '../../acts/button.tsx';
import { openAct } from '../../acts/open.ts';
import type { Act } from '../../acts/shape.ts';
import { Icon } from '../../parts/icon.tsx';
import { useShortcuts } from '../../shell/shortcuts.ts';
import { fill, useWords } from '../../state/preferences.ts';
import { useSession } from '../../state/session.ts';

/** What a message of the chart comes to: a refund, and cancelling at a real bank, are acts of their own. */
export function actOf(document: TransactionDocument, message: string | null, isSandbox: boolean): Act {
  if (message === 'REFUND_ORDER') return { kind: 'refund', document };
  if (message === 'CANCEL' && document.type === 'pix-in' && !isSandbox) return { kind: 'cancel', document };
  return { kind: 'message', transaction: document.id, document, message };
}

export function Acts({ document, again }: { document: TransactionDocument; again(): void }) {
  const words = useWords();
  const { me } = useSession();
  const { allowed, refundable, type, machine } = document;
  const send = actOf(document, null, me.sandbox);
  const isClosed = allowed.every((message) => message === 'REFUND_ORDER');
  const takesNothing = isClosed ? fill(words.actNone, { state: machine.state }) : null;
  useShortcuts({
    s: () => {
      if (me.role === 'operator' && !isClosed) openAct(send, again);
    },
  });
  return (
    <div class="acts">
      <ActButton act={send} done={again} why={takesNothing}>
        <Icon name="send" />
        {words.actSend}
      </ActButton>
      {refundable > 0 ? (
        <ActButton act={{ kind: 'refund', document }} done={again}>
          <Icon name="back" />
          {words.actRefund}
        </ActButton>
      ) : null}
      {type === 'pix-in' && allowed.includes('CANCEL') ? (
        <ActButton act={{ kind: 'cancel', document }} done={again}>
          <Icon name="cross" />
          {words.actCancelCharge}
        </ActButton>
      ) : null}
    </div>
  );
}
