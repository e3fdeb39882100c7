/** The dialog comes with a script of its own, right behind the page, for those who may do something. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useSession } from '../state/session.ts';
import { setOpener } from './open.ts';

export function ActDialogLater() {
  const mayAct = useSession().me.role === 'operator';
  const [dialog, setDialog] = useState<{ Own: FunctionComponent } | null>(null);
  useEffect(() => {
    if (!mayAct) return;
    import('./dialog.tsx').then(
      ({ ActDialog }) => setDialog({ Own: ActDialog }),
      // A new version of the console has no script of an old one any more.
      () => setOpener(() => location.reload()),
    );
  }, [mayAct]);
  return dialog === null ? null : <dialog.Own />;
}
