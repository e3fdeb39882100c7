/** Metrics for ops, in Prometheus' text form, on a port of their own. */
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type HistogramConfiguration,
  Registry,
} from 'prom-client';
import { ATTENTION_KINDS, type AttentionKind } from '../engine/journal.ts';
import { DUE_KINDS, type DueKind } from '../engine/store/due.ts';
import { listen, type RunningServer } from './http.ts';
import type { Observed } from './threads/protocol.ts';

const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];
const COMMIT_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 5];
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];
const DELIVERY_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10];

/** Values that are read when somebody asks. */
export interface Gauges {
  activeAccounts(): number;
  attention(): Promise<Partial<Record<AttentionKind, number>>>;
  /** Commands in mailboxes. */
  waitingCommands(): number;
  /** When the earliest due thing of each kind fell due, ms since 1970. */
  oldestDue(): Promise<Partial<Record<DueKind, number>>>;
  /** The clock that due times go by, ms since 1970. */
  now(): number;
  /** Deliveries behind URLs that don't keep up. */
  deliveriesBehind(): Promise<number>;
}

/** Observations that are handed to a histogram together, unless somebody asks before. */
const TOGETHER = 1_000;

/** A series of a histogram. One at a time, in the midst of other work, an observation takes several times as long. */
class Series {
  readonly #series: { observe(value: number): void };
  #values: number[] = [];

  constructor(series: { observe(value: number): void }) {
    this.#series = series;
  }

  observe(value: number): void {
    this.#values.push(value);
    if (this.#values.length >= TOGETHER) this.passOn();
  }

  passOn(): void {
    for (const value of this.#values.splice(0)) this.#series.observe(value);
  }
}

/** A histogram, and its series by the values of its labels: to find one there costs more than an observation. */
class SeriesOf {
  readonly #histogram: Histogram;
  readonly #known = new Map<string, Series>();

  constructor(settings: HistogramConfiguration<string>) {
    const collect = (): void => {
      for (const series of this.#known.values()) series.passOn();
    };
    this.#histogram = new Histogram({ ...settings, collect });
  }

  /** In the order of its labels. */
  with(...values: string[]): Series {
    const key = values.join(' ');
    let series = this.#known.get(key);
    if (series === undefined) {
      series = new Series(this.#histogram.labels(...values));
      this.#known.set(key, series);
    }
    return series;
  }
}

export class Metrics {
  readonly registry = new Registry();
  readonly #gauges: Gauges;
  /** As many as there are endpoints and answers. */
  readonly #requests: SeriesOf;
  readonly #deliveries: SeriesOf;
  readonly #alarms: Counter;
  readonly #unrecorded: Counter;
  readonly #commits: Series;
  readonly #batches: Series;
  readonly #flushes: Series;
  readonly #groups: Series;
  #deliveriesInHand = (): number => 0;
  #earliestInHand: Partial<Record<DueKind, () => number>> = {};
  /** Up to when the journal was read again, ms since 1970; null: nobody does. */
  #followedTo: number | null = null;
  /** How many were committed until now. */
  entries = 0;

  constructor(gauges: Gauges) {
    const registers = [this.registry];
    this.#gauges = gauges;
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new SeriesOf({
      name: 'pixstate_http_request_seconds',
      help: 'Time to answer, by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_BUCKETS,
      registers,
    });
    this.#deliveries = new SeriesOf({
      name: 'pixstate_webhook_attempt_seconds',
      help: 'Time of webhook attempts, by what became of the delivery.',
      labelNames: ['status'],
      buckets: DELIVERY_BUCKETS,
      registers,
    });
    this.#alarms = new Counter({
      name: 'pixstate_alarms_total',
      help: 'What ops must look at, by kind.',
      labelNames: ['kind'],
      registers,
    });
    this.#unrecorded = new Counter({
      name: 'pixstate_refusals_unrecorded_total',
      help: 'Refused messages that were answered and not recorded, since their transactions have so many.',
      registers,
    });
    this.#commits = new SeriesOf({
      name: 'pixstate_commit_seconds',
      help: "Time of an account's batch from the store's hands until it is durable.",
      buckets: COMMIT_BUCKETS,
      registers,
    }).with();
    this.#batches = new SeriesOf({
      name: 'pixstate_batch_entries',
      help: 'Entries in a batch.',
      buckets: SIZE_BUCKETS,
      registers,
    }).with();
    this.#flushes = new SeriesOf({
      name: 'pixstate_flush_seconds',
      help: 'Time of a group of writes until it is on the disk (embedded store).',
      buckets: COMMIT_BUCKETS,
      registers,
    }).with();
    this.#groups = new SeriesOf({
      name: 'pixstate_group_writes',
      help: 'Writes in a group (embedded store).',
      buckets: SIZE_BUCKETS,
      registers,
    }).with();
    this.#openGauges(gauges);
  }

  #openGauges(gauges: Gauges): void {
    const registers = [this.registry];
    const inHand = (): number => this.#deliveriesInHand();
    const inHandSince = (kind: DueKind): number => this.#earliestInHand[kind]?.() ?? Number.POSITIVE_INFINITY;
    new Gauge({
      name: 'pixstate_mailbox_commands',
      help: 'Commands that wait in the mailboxes of accounts.',
      registers,
      collect() {
        this.set(gauges.waitingCommands());
      },
    });
    new Gauge({
      name: 'pixstate_due_oldest_seconds',
      help: 'How long the earliest due thing has been due, by kind; 0: nothing is due.',
      labelNames: ['kind'],
      registers,
      async collect() {
        const oldest = await gauges.oldestDue();
        const now = gauges.now();
        const earliest = (kind: DueKind): number => Math.min(inHandSince(kind), oldest[kind] ?? now);
        for (const kind of DUE_KINDS) this.set({ kind }, Math.max(0, now - earliest(kind)) / 1000);
      },
    });
    new Gauge({
      name: 'pixstate_deliveries_waiting',
      help: 'Deliveries that wait: in hand of this process, or behind URLs that do not keep up.',
      labelNames: ['state'],
      registers,
      async collect() {
        this.set({ state: 'in_hand' }, inHand());
        this.set({ state: 'behind' }, await gauges.deliveriesBehind());
      },
    });
    new Gauge({
      name: 'pixstate_accounts_active',
      help: 'Accounts with an actor in memory.',
      registers,
      collect() {
        this.set(gauges.activeAccounts());
      },
    });
    new Gauge({
      name: 'pixstate_attention_items',
      help: 'Items that need a person, by kind.',
      labelNames: ['kind'],
      registers,
      async collect() {
        const counts = await gauges.attention();
        for (const kind of ATTENTION_KINDS) this.set({ kind }, counts[kind] ?? 0);
      },
    });
  }

  /** Answers that have these in common, and how long each took, ms. */
  observed({ method, route, status, ms }: Observed): void {
    const series = this.#requests.with(method, route, `${status}`);
    for (const one of ms) series.observe(one / 1000);
  }

  attempted(status: string, ms: number): void {
    this.#deliveries.with(status).observe(ms / 1000);
  }

  /** A batch is durable. */
  committed(ms: number, entries: number): void {
    this.#commits.observe(ms / 1000);
    this.#batches.observe(entries);
    this.entries += entries;
  }

  /** A group of writes is on the disk. */
  flushed(ms: number, writes: number): void {
    this.#flushes.observe(ms / 1000);
    this.#groups.observe(writes);
  }

  /** Says where the number of deliveries in hand is known. */
  countInHand(count: () => number): void {
    this.#deliveriesInHand = count;
  }

  /** Says when the earliest of each kind in hand that waits for its turn fell due, ms; `Infinity`: none waits. */
  dateInHand(earliest: Partial<Record<DueKind, () => number>>): void {
    this.#earliestInHand = earliest;
  }

  /** The journal was read again, up to what was written then (ms since 1970): the first time this adds a metric. */
  followed(to: number): void {
    if (this.#followedTo === null) this.#openFollowed();
    this.#followedTo = to;
  }

  #openFollowed(): void {
    const unread = (): number => Math.max(0, this.#gauges.now() - (this.#followedTo ?? 0)) / 1000;
    new Gauge({
      name: 'pixstate_journal_unread_seconds',
      help: 'How far the console is behind in reading the journal again, to see that it adds up.',
      registers: [this.registry],
      collect() {
        this.set(unread());
      },
    });
  }

  alarm(kind: string): void {
    this.#alarms.inc({ kind });
  }

  unrecorded(count: number): void {
    this.#unrecorded.inc(count);
  }

  /** Serves /metrics. */
  serve(host: string, port: number): Promise<RunningServer> {
    const answer = async (
      path: string | undefined,
    ): Promise<{ status: number; body: string; type: string }> => {
      if (path !== '/metrics')
        return {
          status: 404,
          body: '{"error":"NOT_FOUND","message":"Only /metrics is here."}',
          type: 'application/json',
        };
      return { status: 200, body: await this.registry.metrics(), type: this.registry.contentType };
    };
    return listen(
      (req, res) => {
        answer(req.url).then(
          ({ status, body, type }) => res.writeHead(status, { 'Content-Type': type }).end(body),
          () =>
            res
              .writeHead(500, { 'Content-Type': 'application/json' })
              .end('{"error":"INTERNAL_ERROR","message":"The metrics could not be read."}'),
        );
      },
      host,
      port,
    );
  }
}
