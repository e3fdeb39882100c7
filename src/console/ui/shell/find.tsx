/** The search box over all pages: any id, typed or pasted, to what it belongs to. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Found, Hit } from '../../shapes.ts';
import { ApiError, find } from '../api.ts';
import { StatusChip } from '../parts/chip.tsx';
import { shortened } from '../parts/copied.tsx';
import { Icon } from '../parts/icon.tsx';
import { Money } from '../parts/money.tsx';
import { accountAddress, addressOf, go } from '../router.ts';
import { fill, useWords } from '../state/preferences.ts';
import { useSession } from '../state/session.ts';
import { shapeOf } from './shape.ts';

/** A reader who types on is waited for. */
const PAUSE_MS = 120;
/** The endpoint takes no longer text. */
const MOST_LETTERS = 255;

interface Finding {
  /** What was looked for, and what was found; null while it is looked for. */
  text: string;
  found: Found | null;
  error: string | null;
}

const NOTHING: Finding = { text: '', found: null, error: null };

function addressOfHit({ kind, id }: Hit): string {
  return kind === 'account' ? accountAddress(id) : addressOf(id);
}

/** Looks for a text a moment after it was typed. `opening`: for which text Enter was pressed before the answer came. */
function useFinding(text: string, open: (hit: Hit) => void) {
  const [finding, setFinding] = useState<Finding>(NOTHING);
  const opening = useRef<string | null>(null);
  const latest = useRef({ open, session: useSession() });
  latest.current = { open, session: latest.current.session };
  useEffect(() => {
    if (text === '') {
      setFinding(NOTHING);
      return;
    }
    const abort = new AbortController();
    setFinding({ text, found: null, error: null });
    const timer = setTimeout(() => {
      find(text, abort.signal).then(
        (found) => {
          const [hit] = found.hits;
          if (opening.current === text && found.hits.length === 1 && hit !== undefined)
            latest.current.open(hit);
          else setFinding({ text, found, error: null });
        },
        (error: unknown) => {
          if (abort.signal.aborted) return;
          if (error instanceof ApiError && error.status === 401) latest.current.session.ended();
          const why = error instanceof ApiError ? error.message : String(error);
          setFinding({ text, found: null, error: why });
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return { finding, opening };
}

function HitRow({ hit, index, isChosen }: { hit: Hit; index: number; isChosen: boolean }) {
  const words = useWords();
  const matched: Readonly<Record<string, string>> = words.matched;
  const { transaction, accountName, id } = hit;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the box, which names the chosen one.
    <div role="option" id={`hit-${index}`} aria-selected={isChosen} data-index={index} class="hit">
      {transaction === null ? (
        <span class="hit-kind">{words.account}</span>
      ) : (
        <>
          <StatusChip status={transaction.status} />
          <Money cents={transaction.amount} />
        </>
      )}
      <span class="hit-name">{accountName}</span>
      <code class="weak">{shortened(id, 20)}</code>
      <span class="weak hit-matched">{matched[hit.matched] ?? hit.matched}</span>
    </div>
  );
}

function Note({ finding }: { finding: Finding }) {
  const words = useWords();
  const { text, found, error } = finding;
  if (error !== null)
    return <p class="hit-note">{fill(words.failed, { why: error || words.unreachable })}</p>;
  if (found === null) return <p class="hit-note">{words.findBusy}</p>;
  if (found.hits.length === 0)
    return <p class="hit-note">{fill(words.findNothing, { text: shortened(text, 60) })}</p>;
  return found.complete ? null : <p class="hit-note">{words.findIncomplete}</p>;
}

function Hits({ finding, chosen, open }: { finding: Finding; chosen: number; open(hit: Hit): void }) {
  const words = useWords();
  const hits = finding.found?.hits ?? [];
  const pick = (event: Event) => {
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : null;
    const hit = hits[Number(row?.getAttribute('data-index') ?? -1)];
    if (hit === undefined) return;
    event.preventDefault();
    open(hit);
  };
  return (
    <div class="hits">
      <p class="hit-shape weak">{words.shape[shapeOf(finding.text)]}</p>
      {/* The box keeps the focus while a hit is pressed: losing it would close the list before. */}
      <div role="listbox" id="hits" aria-label={words.findHits} onPointerDown={pick}>
        {hits.map((hit, index) => (
          <HitRow key={hit.id + hit.matched} hit={hit} index={index} isChosen={index === chosen} />
        ))}
      </div>
      <div role="status">
        <Note finding={finding} />
      </div>
    </div>
  );
}

export function Find({ box }: { box: RefObject<HTMLInputElement | null> }) {
  const words = useWords();
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const open = (hit: Hit) => {
    setText('');
    setOpen(false);
    box.current?.blur();
    go(addressOfHit(hit));
  };
  const wanted = text.trim();
  const { finding, opening } = useFinding(wanted, open);
  const hits = finding.found?.hits ?? [];
  const isShown = isOpen && wanted !== '' && finding.text !== '';
  const keyed = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      if (text === '') box.current?.blur();
      setText('');
    } else if (event.key === 'Enter') {
      // What stands in the box may be newer than what was drawn last.
      const typed = box.current?.value.trim() ?? '';
      const hit = finding.text === typed ? hits[chosen] : undefined;
      if (hit !== undefined) open(hit);
      else opening.current = typed;
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const by = event.key === 'ArrowDown' ? 1 : -1;
      setChosen((index) => Math.max(0, Math.min(hits.length - 1, index + by)));
    } else return;
    event.preventDefault();
  };
  return (
    <search class="find">
      <Icon name="search" />
      <input
        ref={box}
        type="text"
        role="combobox"
        aria-label={words.findLabel}
        placeholder={words.findLabel}
        aria-expanded={isShown}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={isShown && hits.length > 0 ? `hit-${chosen}` : undefined}
        autocomplete="off"
        spellcheck={false}
        maxLength={MOST_LETTERS}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={keyed}
      />
      <kbd>/</kbd>
      {isShown ? <Hits finding={finding} chosen={chosen} open={open} /> : null}
    </search>
  );
}
