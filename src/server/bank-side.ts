/**
 * A server's side towards a real bank: the door at which it calls back, the webhooks registered there, reconciliation,
 * and the look at the certificate's dates.
 */
import type { pino } from 'pino';
import type { Door } from '../bank/api-pix/callbacks/door.ts';
import type { CallbackDoor } from '../bank/api-pix/settings.ts';
import { validity } from '../bank/api-pix/wire/identity.ts';
import { elapsed, newTransactionId } from '../clock.ts';
import type { Core } from '../core.ts';
import { OperatorError, textOf } from '../errors.ts';
import type { RecurringJob } from '../jobs/recurring-job.ts';
import type { Sweeps } from '../jobs/sweeps.ts';
import { addBankMetrics } from './bank-metrics.ts';
import type { Metrics } from './metrics.ts';
import { callbackLog } from './telling.ts';

/** What a server does beside the desk for its bank. */
export interface BankSide {
  jobs: Sweeps;
  /** Opens the door. @throws OperatorError */
  open(): Promise<void>;
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
/** How often it is looked for keys that are new, and those that couldn't be registered. */
const REGISTERED_MS = 10 * MINUTE_MS;
const PROBED_MS = 10_000;
const HOUR_MS = 60 * MINUTE_MS;
const NONE: BankSide = {
  jobs: { shared: [], local: [] },
  open: async () => {},
  close: async () => {},
};

/** Opens a door; its port. @throws OperatorError */
async function opening(door: Pick<Door, 'open'>, place: CallbackDoor | null): Promise<number> {
  try {
    return await door.open();
  } catch (error) {
    const { port, host } = place ?? {};
    throw new OperatorError(`BANK_CALLBACK_PORT ${port} on ${host} can't be opened: ${textOf(error)}`);
  }
}

/** What a server needs for the configuration's bank; nothing with the sandbox. */
export async function openBankSide(core: Core, log: pino.Logger, metrics: Metrics): Promise<BankSide> {
  const { config, connection, bankNotes, now, store } = core;
  const settings = config.bankSettings;
  if (settings === null || connection === null || bankNotes === null) return NONE;
  const [{ Door: OpenDoor }, { taking }, { Reconciler }, { Registrar }] = await Promise.all([
    import('../bank/api-pix/callbacks/door.ts'),
    import('../bank/api-pix/callbacks/incoming.ts'),
    import('../bank/api-pix/reconciling/reconcile.ts'),
    import('../bank/api-pix/callbacks/registrar.ts'),
  ]);
  const { journal, due, marks, accounts } = store;
  const take = taking({
    ...{ journal, due, now },
    onDropped: (count) => log.info({ count }, 'callbacks that no transaction of ours explains'),
  });
  const onTrouble = callbackLog(log);
  const door =
    settings.callback === null
      ? null
      : new OpenDoor({ door: settings.callback, profile: connection.profile, take, onTrouble });
  const { retryScale } = settings;
  const reconciler = new Reconciler({
    ...{ connection, journal, due, marks, now, retryScale, notes: bankNotes },
  });
  const { pixKey, webhookUrl } = settings;
  const registrar = new Registrar({ connection, accounts, pixKey, webhookUrl, notes: bankNotes });
  const jobs: RecurringJob[] = [
    { name: 'reconcile', everyMs: settings.reconcileS * 1_000, run: () => reconciler.run() },
    { name: 'bank-webhooks', everyMs: Math.max(100, REGISTERED_MS * retryScale), run: () => registrar.run() },
  ];
  addBankMetrics(metrics.registry, {
    isBreakerOpen: () => connection.client.breaker.isOpen,
    tokenAge: () => {
      const token = connection.client.tokens.current;
      return token === null ? null : (elapsed() - token.askedAt) / 1_000;
    },
    certificateLeft: () => (validity(settings.identity).to - now()) / 1_000,
    reconciledAge: async () => {
      const until = await reconciler.reconciledUntil();
      return until === null ? null : (now() - until) / 1_000;
    },
    onCall: (listener) => connection.onCall(listener),
  });
  const certificate = (): Promise<void> => bankNotes.certificate(settings.identity);
  // Nobody else may call while the breaker is open, and then nobody would find out that the bank is back.
  const probe = async (): Promise<void> => {
    if (connection.client.breaker.isOpen) await connection.charges.ask(newTransactionId());
  };
  const local: RecurringJob[] = [
    { name: 'certificate', everyMs: HOUR_MS, run: certificate },
    { name: 'bank-items', everyMs: Math.max(100, MINUTE_MS * retryScale), run: () => bankNotes.look() },
    { name: 'bank-probe', everyMs: Math.max(20, PROBED_MS * retryScale), run: probe },
  ];
  return {
    jobs: { shared: jobs, local },
    open: async () => {
      const opened = door === null ? null : await opening(door, settings.callback);
      const { profile, url } = settings;
      log.info({ bank: config.bank, profile, host: new URL(url).host, door: opened }, 'the bank');
    },
    close: async () => {
      await door?.close();
    },
  };
}
