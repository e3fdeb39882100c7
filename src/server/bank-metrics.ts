/** Metrics of a real bank: calls by name and outcome, the breaker, the ages of token, certificate and reconciliation. */
import { Gauge, Histogram, type Registry } from 'prom-client';
import type { CallEnded } from '../bank/api-pix/wire/client.ts';

const CALL_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];

/** Values that are read when somebody asks; seconds, null where nothing is known. */
export interface BankGauges {
  isBreakerOpen(): boolean;
  tokenAge(): number | null;
  certificateLeft(): number;
  reconciledAge(): Promise<number | null>;
  onCall(listener: (ended: CallEnded) => void): void;
}

function gauge(
  registers: Registry[],
  name: string,
  help: string,
  read: () => number | null | Promise<number | null>,
): void {
  new Gauge({
    name,
    help,
    registers,
    async collect() {
      const value = await read();
      // `reset` would say 0, as if it were just now.
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}

/** Adds the bank's metrics to a registry. */
export function addBankMetrics(registry: Registry, gauges: BankGauges): void {
  const registers = [registry];
  const calls = new Histogram({
    name: 'pixstate_bank_call_seconds',
    help: 'Time of calls to the bank, by call and outcome.',
    labelNames: ['call', 'outcome'],
    buckets: CALL_BUCKETS,
    registers,
  });
  gauges.onCall(({ call, outcome, ms }) => calls.observe({ call, outcome }, ms / 1000));
  gauge(
    registers,
    'pixstate_bank_breaker_open',
    '1 while calls are held back from a bank that is down.',
    () => (gauges.isBreakerOpen() ? 1 : 0),
  );
  gauge(registers, 'pixstate_bank_token_age_seconds', 'Age of the access token.', () => gauges.tokenAge());
  gauge(
    registers,
    'pixstate_bank_certificate_left_seconds',
    'Until the client certificate expires; below 0: it has.',
    () => gauges.certificateLeft(),
  );
  gauge(
    registers,
    'pixstate_bank_reconciled_age_seconds',
    "How far behind now the bank's list was read and looked at.",
    () => gauges.reconciledAge(),
  );
}
