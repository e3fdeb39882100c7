/** What people did to an account: when, who, what and why, the newest first. */
import type { Did, StatementRow } from '../../../shapes/account.ts';
import type { Language } from '../../../shapes.ts';
import { StatusChip } from '../../parts/chip.tsx';
import { Movement } from '../../parts/money.tsx';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { EntryTime } from './entry-time.tsx';

interface HandWords {
  who: string;
  what: string;
  why: string;
  unnamed: string;
  noReason: string;
  adjust: string;
  /** By action, of one thing and of more. */
  did: Readonly<Record<string, readonly [one: string, more: string]>>;
}

const handWords: Record<Language, HandWords> = {
  pt: {
    who: 'Quem',
    what: 'O quê',
    why: 'Por quê',
    unnamed: 'sem nome',
    noReason: 'sem motivo',
    adjust: 'Ajuste do saldo',
    did: {
      retry: ['Reenviou 1 entrega', 'Reenviou {n} entregas'],
      done: ['Encerrou 1 caso', 'Encerrou {n} casos'],
      settings: ['Mudou a conta', 'Mudou a conta'],
      rotate: ['Trocou o segredo', 'Trocou o segredo'],
      cancel: ['Pediu ao banco que cancelasse', 'Pediu ao banco que cancelasse'],
    },
  },
  en: {
    who: 'Who',
    what: 'What',
    why: 'Why',
    unnamed: 'no name',
    noReason: 'no reason given',
    adjust: 'Balance adjusted',
    did: {
      retry: ['Sent 1 delivery again', 'Sent {n} deliveries again'],
      done: ['Closed 1 case', 'Closed {n} cases'],
      settings: ['Changed the account', 'Changed the account'],
      rotate: ['Made a new secret', 'Made a new secret'],
      cancel: ['Asked the bank to cancel', 'Asked the bank to cancel'],
    },
  },
};

/** What was done in words; an action that has none yet is named as the journal does. */
function deedText({ did: words }: HandWords, { action, count }: Did): string {
  const [one, more] = words[action] ?? [action, action];
  return count === null || count === 1 ? one : fill(more, { n: count });
}

function What({ row, words }: { row: StatementRow; words: HandWords }) {
  const { refusedEntry } = useWords();
  const { did, message, status, isRefused, externalRef, transaction } = row;
  if (did !== null)
    return (
      <>
        {deedText(words, did)} {did.about === null ? null : <code>{did.about}</code>}
      </>
    );
  return (
    <>
      {transaction === null ? words.adjust : <code>{message}</code>}{' '}
      {transaction === null ? null : <code>{externalRef ?? transaction.slice(0, 8)}</code>}{' '}
      {isRefused ? <span class="bad-text">{refusedEntry}</span> : null}
      {status === null ? null : <StatusChip status={status} />}
    </>
  );
}

function Row({ row, words }: { row: StatementRow; words: HandWords }) {
  const { at, transaction, by, amount } = row;
  return (
    <tr>
      <td>
        <EntryTime at={at} transaction={transaction} />
      </td>
      <td class="who">{by === null ? <span class="weak">{words.unnamed}</span> : by.name}</td>
      <td class="message">
        <What row={row} words={words} />
      </td>
      <td class="why">
        {by === null || by.reason === null ? <span class="weak">{words.noReason}</span> : <q>{by.reason}</q>}
      </td>
      <td class="number moved">{amount === 0 ? null : <Movement cents={amount} />}</td>
    </tr>
  );
}

export function ByHand({ rows }: { rows: readonly (StatementRow & { key: string })[] }) {
  const words = useWords();
  const own = handWords[usePreferences().language];
  return (
    <table class="list statement by-hand" aria-live="off">
      <caption class="unseen">{words.byHand}</caption>
      <thead>
        <tr>
          <th scope="col">{words.attemptAt}</th>
          <th scope="col">{own.who}</th>
          <th scope="col">{own.what}</th>
          <th scope="col">{own.why}</th>
          <th scope="col" class="number">
            {words.column.amount}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.key} row={row} words={own} />
        ))}
      </tbody>
    </table>
  );
}
