/** What a transaction is: its amount and state, large, and what it is known by. */
import type { ComponentChildren } from 'preact';
import type { TransactionDocument } from '../../../shapes.ts';
import { StatusChip } from '../../parts/chip.tsx';
import { CopiedText } from '../../parts/copied.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Money, reais } from '../../parts/money.tsx';
import { Age, Time } from '../../parts/time.tsx';
import { accountAddress } from '../../router.ts';
import { useWords } from '../../state/preferences.ts';
import { useSession } from '../../state/session.ts';
import { useTitle } from '../../state/title.ts';

interface HeadingProps {
  document: TransactionDocument;
  isRevealed: boolean;
  reveal(on: boolean): void;
}

/** The parts of a transaction as its merchant reads it, as far as they stand in the heading. */
interface Known {
  externalRef?: string | null;
  idempotencyKey?: string | null;
  reference?: string | null;
  description?: string | null;
  customer?: { name?: string | null; document?: { number?: string | null } | null } | null;
  pix?: { endToEndId?: string | null; pixKey?: string | null };
  fee?: { totalFee?: number; netAmount?: number };
  refundedAmount?: number;
  chargedbackAmount?: number;
  returnedAmount?: number;
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Id({ name, text, most }: { name: string; text: string | null | undefined; most: number }) {
  if (text === null || text === undefined) return null;
  return (
    <Fact name={name}>
      <CopiedText text={text} what={name} most={most} />
    </Fact>
  );
}

function Sum({ name, cents }: { name: string; cents: number | undefined }) {
  if (cents === undefined || cents === 0) return null;
  return (
    <Fact name={name}>
      <Money cents={cents} />
    </Fact>
  );
}

function Payer({ customer }: { customer: Known['customer'] }) {
  const words = useWords();
  if (customer === null || customer === undefined) return null;
  return (
    <Fact name={words.payer}>
      <bdi>{customer.name ?? ''}</bdi> <span class="weak mono">{customer.document?.number ?? ''}</span>
    </Fact>
  );
}

function Facts({ document }: { document: TransactionDocument }) {
  const words = useWords();
  const known = document.transaction as Known;
  return (
    <dl class="facts">
      <Id name={words.reference} text={known.externalRef} most={28} />
      <Id name={words.endToEnd} text={known.pix?.endToEndId ?? known.reference} most={18} />
      <Id name={words.key} text={known.idempotencyKey} most={24} />
      <Payer customer={known.customer} />
      {known.pix?.pixKey === undefined || known.pix.pixKey === null ? null : (
        <Fact name={words.payee}>
          <code>{known.pix.pixKey}</code>
        </Fact>
      )}
      <Sum name={words.fee} cents={known.fee?.totalFee} />
      <Sum name={words.refunded} cents={known.refundedAmount} />
      <Sum name={words.chargedback} cents={known.chargedbackAmount} />
      <Sum name={words.returned} cents={known.returnedAmount} />
      <Fact name={words.created}>
        <Time at={document.createdAt} />
      </Fact>
      <Fact name={words.changed}>
        <Age at={document.updatedAt} />
      </Fact>
    </dl>
  );
}

function Reveal({ isRevealed, reveal }: Omit<HeadingProps, 'document'>) {
  const words = useWords();
  const { role, via } = useSession().me;
  const mayReveal = role === 'operator';
  const note = mayReveal ? words.revealNote : `${words.revealRefused} ${words.becomeOperator[via]}`;
  return (
    <div class="actions">
      <button
        type="button"
        class="quiet"
        aria-disabled={!mayReveal}
        aria-describedby="reveal-note"
        aria-pressed={isRevealed}
        title={note}
        onClick={() => {
          if (mayReveal) reveal(!isRevealed);
        }}
      >
        <Icon name="eye" />
        <span class="wide-only">{isRevealed ? words.hide : words.reveal}</span>
      </button>
      <span id="reveal-note" class="unseen">
        {note}
      </span>
    </div>
  );
}

export function Heading({ document, isRevealed, reveal }: HeadingProps) {
  const words = useWords();
  const { amount, status, type, account, accountName } = document;
  const { description } = document.transaction as Known;
  const states: Readonly<Record<string, string>> = words.status;
  useTitle(`${reais(amount)}, ${states[status] ?? status}`);
  return (
    <div class="heading">
      <nav class="crumbs" aria-label={words.transactions}>
        <a href="/transactions">{words.transactions}</a> / <a href={accountAddress(account)}>{accountName}</a>
      </nav>
      <div class="title">
        <h1>
          <span class="unseen">{words.type[type]} </span>
          {reais(amount)}
        </h1>
        <StatusChip status={status} isLarge />
      </div>
      <p class="subtitle">
        {words.type[type]}
        {description === null || description === undefined ? null : (
          <>
            {' · '}
            <bdi>{description}</bdi>
          </>
        )}{' '}
        <CopiedText text={document.id} what="id" />
      </p>
      <Reveal isRevealed={isRevealed} reveal={reveal} />
      <Facts document={document} />
    </div>
  );
}
