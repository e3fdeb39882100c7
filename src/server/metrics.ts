/** Metrics for ops, in Prometheus' text form, on a port of their own. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Answered } from '../api/app.ts';
import { ATTENTION_KINDS, type AttentionKind } from '../engine/journal.ts';
import { listen, type RunningServer } from './http.ts';

const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];
const DELIVERY_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10];

/** Values that are read when somebody asks. */
export interface Gauges {
  activeAccounts(): number;
  attention(): Promise<Partial<Record<AttentionKind, number>>>;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram;
  /** By method, route and status: as many as there are endpoints and answers. */
  readonly #series = new Map<string, { observe(seconds: number): void }>();
  readonly #deliveries: Histogram;
  readonly #alarms: Counter;
  readonly #unrecorded: Counter;

  constructor(gauges: Gauges) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Histogram({
      name: 'pixstate_http_request_seconds',
      help: 'Time to answer, by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_BUCKETS,
      registers,
    });
    this.#deliveries = new Histogram({
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

  answered({ method, route, status, ms }: Answered): void {
    // Finding the labels' own series costs more than the observation.
    const key = `${method} ${route} ${status}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = this.#requests.labels({ method, route, status });
      this.#series.set(key, series);
    }
    series.observe(ms / 1000);
  }

  attempted(status: string, ms: number): void {
    this.#deliveries.observe({ status }, ms / 1000);
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
      return { status: 200, body: await this.#registry.metrics(), type: this.#registry.contentType };
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
