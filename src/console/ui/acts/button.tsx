/** A button that opens the dialog. Who only reads sees it, and is told why it does nothing. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { useWords } from '../state/preferences.ts';
import { useSession } from '../state/session.ts';
import { openAct } from './open.ts';
import type { Act } from './shape.ts';

interface ActButtonProps {
  act: Act;
  done(): void;
  class?: string;
  /** Why it can't be done now; null: it can. */
  why?: string | null;
  children: ComponentChildren;
}

export function ActButton({ act, done, class: name = '', why = null, children }: ActButtonProps) {
  const words = useWords();
  const id = useId();
  const { role, via } = useSession().me;
  const reason = role === 'operator' ? why : `${words.operatorsAct} ${words.becomeOperator[via]}`;
  return (
    <>
      <button
        type="button"
        class={name}
        aria-disabled={reason !== null}
        aria-describedby={reason === null ? undefined : id}
        title={reason ?? undefined}
        onClick={() => {
          if (reason === null) openAct(act, done);
        }}
      >
        {children}
      </button>
      {reason === null ? null : (
        <span id={id} class="unseen">
          {reason}
        </span>
      )}
    </>
  );
}
