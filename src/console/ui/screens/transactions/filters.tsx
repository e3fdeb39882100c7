/** What the list of transactions is filtered by: all of it stands in the address. */
import { familyOf, statusesByFamily } from '../../../shapes/families.ts';
import type { LiveRow } from '../../../shapes/live.ts';
import { Icon } from '../../parts/icon.tsx';
import { TimeField, timeIn } from '../../parts/time.tsx';
import { choose, usePlace } from '../../router.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { filterWords } from './words.ts';

const NAMES = ['type', 'status', 'family', 'account', 'from', 'to'] as const;

export type Filters = Record<(typeof NAMES)[number], string>;

/** Before a family in the list of states: no state has it. */
const FAMILY_MARK = 'family:';

/** What is chosen; an empty text lets all through. */
export function useFilters(): Filters {
  const { query } = usePlace();
  const given = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ''])) as Filters;
  return { ...given, from: timeIn(given.from) ?? '', to: timeIn(given.to) ?? '' };
}

/** Whether an entry makes a transaction that these filters let through. */
export function makesOne({ from, to, type, at }: LiveRow, filters: Filters): boolean {
  if (from !== null || to === null) return false;
  const isInTime = at >= filters.from && (filters.to === '' || at <= filters.to);
  const isOfState = ['', to].includes(filters.status) && ['', familyOf(to)].includes(filters.family);
  return isInTime && isOfState && ['', type].includes(filters.type);
}

/** A state, or all of a family. */
function StateFilter({ status, family }: Filters) {
  const words = useWords();
  const { allOf } = filterWords[usePreferences().language];
  const statuses: Readonly<Record<string, string>> = words.status;
  return (
    <select
      aria-label={words.statusFilter}
      value={status === '' && family !== '' ? FAMILY_MARK + family : status}
      onChange={({ currentTarget: { value } }) => {
        const isFamily = value.startsWith(FAMILY_MARK);
        choose(
          isFamily ? { status: '', family: value.slice(FAMILY_MARK.length) } : { status: value, family: '' },
        );
      }}
    >
      <option value="">{words.anyStatus}</option>
      {statusesByFamily().map(([each, members]) => (
        <optgroup key={each} label={words.family[each]}>
          <option value={FAMILY_MARK + each}>{fill(allOf, { family: words.family[each] })}</option>
          {members.map((member) => (
            <option key={member} value={member}>
              {/* Both spellings of one word are states of their own: a charge's and a transfer's. */}
              {member === 'cancelled' ? `${statuses[member]} (${words.type.cashout})` : statuses[member]}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

/** `name`: the account's that is chosen, where it is known. */
export function FilterBar({ filters, name }: { filters: Filters; name: string | null }) {
  const words = useWords();
  const own = filterWords[usePreferences().language];
  const { type, account, from, to } = filters;
  return (
    <form class="filters" aria-label={words.filters} onSubmit={(event) => event.preventDefault()}>
      <select
        aria-label={words.typeFilter}
        value={type}
        onChange={(event) => choose({ type: event.currentTarget.value })}
      >
        <option value="">{words.anyType}</option>
        <option value="pix-in">{words.type['pix-in']}</option>
        <option value="cashout">{words.type.cashout}</option>
      </select>
      <StateFilter {...filters} />
      <TimeField name="from" label={own.from} at={from || null} />
      <TimeField name="to" label={own.to} at={to || null} />
      {from === '' && to === '' ? null : (
        <button type="button" onClick={() => choose({ from: '', to: '' })}>
          {own.anyTime}
          <Icon name="cross" size={13} />
        </button>
      )}
      {account === '' ? null : (
        <button type="button" title={words.clearAccount} onClick={() => choose({ account: '' })}>
          {fill(words.ofAccount, { name: name ?? account })}
          <Icon name="cross" size={13} />
        </button>
      )}
    </form>
  );
}
