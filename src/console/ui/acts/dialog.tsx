/**
 * The one dialog in which anything is done: what will happen, what can be chosen, why, and the entry that the journal
 * will have. It opens in the turn of the key or click that asks for it, so that what is typed next is the reason.
 */
import type { RefObject } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, act as send } from '../api.ts';
import { Icon } from '../parts/icon.tsx';
import { Json } from '../parts/json.tsx';
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import { isSame, type Session, useSession } from '../state/session.ts';
import { forms } from './forms/forms.tsx';
import { wordsOf } from './forms/words.ts';
import { newId } from './id.ts';
import { setOpener } from './open.ts';
import type { Act, Plan, Situation, Values } from './shape.ts';

const MOST_REASON = 500;

type Standing =
  /** `isUnknown`: it may be done already, and the very same is asked for again, or nothing. */
  | { kind: 'asking'; trouble: string | null; isUnknown: boolean }
  | { kind: 'busy' }
  | { kind: 'answered'; answer: unknown };

const ASKING: Standing = { kind: 'asking', trouble: null, isUnknown: false };

interface Parts {
  dialog: RefObject<HTMLDialogElement | null>;
  reason: RefObject<HTMLInputElement | null>;
}

/** An act from its opening to its end; its id stays as long as nobody knows whether it was done. */
function useActing({ dialog, reason: field }: Parts) {
  const [opened, setOpened] = useState<{ act: Act; done(): void } | null>(null);
  const [values, setValues] = useState<Values>({});
  const set = useCallback((changes: Values) => setValues((before) => ({ ...before, ...changes })), []);
  const [reason, setReason] = useState('');
  const [id, setId] = useState('');
  const [standing, setStanding] = useState<Standing>(ASKING);
  const busy = useRef(false);
  useEffect(() => {
    setOpener((act, done, typed) => {
      setOpened({ act, done });
      setStanding(ASKING);
      setValues({});
      setReason(typed);
      setId(newId());
      if (field.current !== null) field.current.value = typed;
      dialog.current?.showModal();
      field.current?.focus();
    });
    return () => setOpener(null);
  }, [dialog, field]);
  return { opened, values, set, reason, setReason, id, setId, standing, setStanding, busy };
}

/** What an answer that is none of success says, and whether it is known that nothing was done. */
function useTroubles(): (error: unknown) => { text: string; isKnown: boolean } {
  const { language } = usePreferences();
  return (error) => {
    if (!(error instanceof ApiError)) return { text: String(error), isKnown: false };
    const { status, code, extra, message } = error;
    const isKnown = status >= 400 && status < 500;
    const unknown = fill(wordsOf(language).frame.unknown, { why: message === '' ? code : message });
    return { text: forms.troubleOf(code, extra, language) ?? (isKnown ? message : unknown), isKnown };
  };
}

interface FormProps {
  situation: Situation;
  plan: Plan;
  standing: Standing;
  close(): void;
}

/** What stands below the reason. */
function Below({ situation, plan, standing, close }: FormProps) {
  const words = wordsOf(situation.language).frame;
  const isBusy = standing.kind === 'busy';
  return (
    <>
      <h3>{words.entry}</h3>
      <Json value={plan.entry} name={words.entry} />
      <p class="bad-text" role="alert">
        {standing.kind === 'asking' ? standing.trouble : null}
      </p>
      <footer>
        <button type="button" onClick={close} disabled={isBusy}>
          {words.back}
        </button>
        <button type="submit" class="strong" aria-disabled={isBusy || plan.request === null}>
          {isBusy ? words.busy : plan.verb}
        </button>
      </footer>
    </>
  );
}

function Head({ title, isBusy, close }: { title: string; isBusy: boolean; close(): void }) {
  const words = useWords();
  return (
    <header>
      <h2 id="act-title">{title}</h2>
      <button type="button" class="quiet square" aria-label={words.close} onClick={close} disabled={isBusy}>
        <Icon name="cross" />
      </button>
    </header>
  );
}

/** The entry that is shown has a name: whoever a proxy has signed in meanwhile is asked before. @throws ApiError */
async function expectSame({ me, again }: Session): Promise<void> {
  if (me.via !== 'proxy') return;
  const present = await again();
  const problem = { error: 'SOMEBODY_ELSE', message: '', name: present.by };
  if (!isSame(present, me)) throw new ApiError(409, problem);
}

/** Asks for it, and says what came of it; `opened.done` reads the page afresh, whatever came. */
function useSubmit(acting: ReturnType<typeof useActing>, close: () => void) {
  const session = useSession();
  const troubleOf = useTroubles();
  const { opened, set, setStanding, setId, busy } = acting;
  return async (plan: Plan) => {
    if (opened === null || plan.request === null || busy.current) return;
    busy.current = true;
    const { standing } = acting;
    setStanding({ kind: 'busy' });
    try {
      await expectSame(session);
    } catch (error) {
      busy.current = false;
      if (error instanceof ApiError && error.status === 401) session.ended();
      // Nothing was asked for: what may have been done before is asked for under its id still.
      const isUnknown = standing.kind === 'asking' && standing.isUnknown;
      setStanding({ kind: 'asking', trouble: troubleOf(error).text, isUnknown });
      return;
    }
    try {
      const { method, path, body } = plan.request;
      const answer = await send(method, path, body);
      busy.current = false;
      setStanding({ kind: 'answered', answer });
      if (forms.resultOf(opened.act) === null) close();
    } catch (error) {
      busy.current = false;
      if (error instanceof ApiError && error.status === 401) session.ended();
      const { text, isKnown } = troubleOf(error);
      // Where nobody knows whether it was done, the same id is asked for again: it is done once.
      if (isKnown) setId(newId());
      // What is there now, where somebody else was first: the form shows it beside what was typed.
      if (error instanceof ApiError && error.extra.present !== undefined)
        set({ present: error.extra.present });
      setStanding({ kind: 'asking', trouble: text, isUnknown: !isKnown });
    }
    opened.done();
  };
}

export function ActDialog() {
  const { language } = usePreferences();
  const { me } = useSession();
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const acting = useActing({ dialog, reason: field });
  const { opened, standing, values, set, reason, id } = acting;
  const close = useCallback(() => dialog.current?.close(), []);
  // The way back leads off what the dialog is about; what is under way has its answer shown.
  useEffect(() => {
    const left = () => acting.busy.current || close();
    addEventListener('popstate', left);
    return () => removeEventListener('popstate', left);
  }, [acting.busy, close]);
  const submit = useSubmit(acting, close);
  const isBusy = standing.kind === 'busy';
  const situation = opened === null ? null : { act: opened.act, values, set, id, reason, me, language };
  const plan = situation === null ? null : forms.planOf(situation);
  const Result = opened === null ? null : forms.resultOf(opened.act);
  const isAnswered = standing.kind === 'answered' && Result !== null;
  // What is asked for under this id stays what it was: another amount would be another act beside it.
  const isFixed = isBusy || (standing.kind === 'asking' && standing.isUnknown);
  return (
    <dialog
      ref={dialog}
      class="act"
      aria-labelledby="act-title"
      onCancel={(event) => isBusy && event.preventDefault()}
      onClose={() => {
        // A browser closes it at the second Escape whatever is said: what is under way has its answer shown.
        if (acting.busy.current) {
          dialog.current?.showModal();
          return;
        }
        // The field is there again before the dialog is opened next.
        acting.setStanding(ASKING);
        if (isAnswered) opened?.done();
      }}
    >
      <Head title={plan?.title ?? ''} isBusy={isBusy} close={close} />
      {isAnswered && situation !== null ? (
        <Result situation={situation} answer={standing.answer} close={close} />
      ) : null}
      <form
        hidden={isAnswered}
        onSubmit={(event) => {
          event.preventDefault();
          if (plan !== null) void submit(plan);
        }}
      >
        <div class="given" inert={isFixed}>
          {situation === null ? null : <forms.Fields key={id} situation={situation} />}
          {plan?.says.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
        <label class="field">
          <span>{wordsOf(language).frame.reason}</span>
          <input
            ref={field}
            required
            readOnly={isFixed}
            maxLength={MOST_REASON}
            pattern=".*\S.*"
            autocomplete="off"
            onInput={(event) => acting.setReason(event.currentTarget.value)}
          />
        </label>
        {situation === null || plan === null ? null : <Below {...{ situation, plan, standing, close }} />}
      </form>
    </dialog>
  );
}
