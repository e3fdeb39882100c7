/**
 * What needs a person, by its causes: all deliveries that died at one URL are one, whatever their number.
 */
import type { About } from '../../../domain/sentences/item-codes.ts';
import { countOf } from '../../../engine/attention/counted.ts';
import { ATTENTION_KINDS, type AttentionKind } from '../../../engine/journal.ts';
import type { AttentionItem, AttentionPlace, StoreReads } from '../../../engine/store.ts';
import type { Cause, CauseAction } from '../../shapes/now.ts';
import { accountNames } from '../account/list.ts';
import { shownItems } from '../items.ts';
import { type CountedPage, Pass } from './pass.ts';

const PAGE = 500;
const MOST_SAMPLE = 3;
/** Causes that are told apart; of more only items are counted. */
const MOST_CAUSES = 1_000;
const MOST_SHOWN = 30;

/** What is most urgent first: money that may be lost or wait, then what stands still, then what others miss. */
const URGENCY: Readonly<Record<AttentionKind, number>> = {
  journal: 0,
  projection: 0,
  stuck: 1,
  payment: 2,
  difference: 3,
  bank: 4,
  quarantined: 5,
  return: 6,
  unknown: 7,
  invalid: 8,
  dead: 9,
  hanging: 10,
  rejected: 11,
  refused: 12,
  clock: 13,
};

const ACTIONS: Readonly<Record<AttentionKind, CauseAction>> = {
  dead: 'retry',
  rejected: 'retry',
  stuck: 'answer',
  payment: 'done',
  difference: 'done',
  return: 'done',
  unknown: 'done',
  invalid: 'done',
  refused: 'done',
  bank: 'look',
  quarantined: 'look',
  journal: 'look',
  projection: 'look',
  hanging: 'look',
  clock: 'look',
};

/** Kinds of which each URL is a cause of its own. */
const BY_URL: ReadonlySet<string> = new Set(['dead', 'rejected', 'hanging']);

interface Group {
  kind: AttentionKind;
  code: string | null;
  about: About;
  count: number;
  sum: number | null;
  since: string;
  sample: AttentionItem[];
}

/** The causes that were met so far, by name. */
interface Sums {
  groups: Map<string, Group>;
  /** Items of causes that found no room. */
  others: number;
}

function nameOf({ kind, code, about: { account, url } }: AttentionItem): string {
  return JSON.stringify(BY_URL.has(kind) ? [kind, account, url] : [kind, code]);
}

function common(one: About, other: About): About {
  const same = (name: keyof About): string | null => (one[name] === other[name] ? one[name] : null);
  return {
    ...{ account: same('account'), transaction: same('transaction') },
    ...{ delivery: same('delivery'), url: same('url') },
  };
}

/** An account's URL is its own, whichever of its deliveries an item was about. */
function aboutOf({ kind, about }: AttentionItem): About {
  return kind === 'rejected' ? { ...about, transaction: null, delivery: null } : about;
}

function add(sums: Sums, item: AttentionItem): void {
  const name = nameOf(item);
  const { kind, code, amount, since } = item;
  const group = sums.groups.get(name);
  if (group === undefined) {
    if (sums.groups.size >= MOST_CAUSES) sums.others += 1;
    else
      sums.groups.set(name, {
        ...{ kind, code, about: aboutOf(item), count: countOf(item), sum: amount, since, sample: [item] },
      });
    return;
  }
  group.count += countOf(item);
  if (amount !== null) group.sum = (group.sum ?? 0) + amount;
  group.about = common(group.about, aboutOf(item));
  if (since < group.since) group.since = since;
  if (group.sample.length < MOST_SAMPLE) group.sample.push(item);
}

/** Kinds that are still to be read, each behind an item (null: from its first), the most urgent first. */
type Place = readonly { kind: AttentionKind; after: AttentionPlace | null }[];

const BEGINNING: Place = ATTENTION_KINDS.toSorted((a, b) => URGENCY[a] - URGENCY[b]).map((kind) => ({
  ...{ kind, after: null },
}));

/** The first page of each kind together, then further ones: a long kind keeps no other from being seen. */
export async function listedBehind(
  { attention }: Pick<StoreReads, 'attention'>,
  place: Place,
): Promise<CountedPage<AttentionItem, Place>> {
  const some = place === BEGINNING ? place : place.slice(0, 1);
  const pages = await Promise.all(some.map(({ kind, after }) => attention.page({ kind }, after, PAGE)));
  const further = some.flatMap(({ kind }, index) => {
    const page = pages[index] ?? [];
    return page.length < PAGE ? [] : [{ kind, after: page.at(-1) ?? null }];
  });
  const next = [...further, ...place.slice(some.length)];
  return { items: pages.flat(), next: next.length === 0 ? null : next };
}

export class CausesPass extends Pass<Sums, AttentionItem, Place> {
  constructor() {
    super({
      begin: () => ({ groups: new Map(), others: 0 }),
      add,
      isEmpty: ({ groups }) => groups.size === 0,
      first: BEGINNING,
      ...{ mostItems: 5_000, mostMs: 80 },
    });
  }
}

/** The causes as they are shown, the most urgent first, and how many there are besides. */
export async function causesOf(
  reads: StoreReads,
  { groups, others }: Sums,
): Promise<{ causes: Cause[]; others: number }> {
  const all = [...groups.values()].sort(
    (a, b) => URGENCY[a.kind] - URGENCY[b.kind] || b.count - a.count || (a.since < b.since ? -1 : 1),
  );
  const shown = all.slice(0, MOST_SHOWN);
  const names = await accountNames(
    reads,
    shown.flatMap(({ about }) => about.account ?? []),
  );
  const causes = shown.map((group) => ({
    ...group,
    sample: shownItems(group.sample),
    accountName: names.get(group.about.account ?? '') ?? null,
    action: ACTIONS[group.kind],
  }));
  return { causes, others: all.length - shown.length + others };
}
