/** The list of keys. */
import type { RefObject } from 'preact';
import { Icon } from '../parts/icon.tsx';
import { useWords } from '../state/preferences.ts';

export function Keys({ dialog }: { dialog: RefObject<HTMLDialogElement | null> }) {
  const words = useWords();
  const rows: [string[], string][] = [
    [['/', 'Ctrl K'], words.keys.find],
    [['g n'], words.keys.goNow],
    [['g t'], words.keys.goTransactions],
    [['g d'], words.keys.goDeliveries],
    [['g a'], words.keys.goAccounts],
    [['j'], words.keys.down],
    [['k'], words.keys.up],
    [['Enter'], words.keys.open],
    [['['], words.keys.earlier],
    [[']'], words.keys.later],
    [['s'], words.keys.send],
    [['p'], words.keys.pause],
    [['?'], words.keys.help],
    [['Esc'], words.keys.escape],
  ];
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title">
      <header>
        <h2 id="keys-title">{words.keysTitle}</h2>
        <button
          type="button"
          class="quiet square"
          aria-label={words.close}
          onClick={() => dialog.current?.close()}
        >
          <Icon name="cross" />
        </button>
      </header>
      <dl>
        {rows.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
