/** An HTTP thread: the whole of Koa, on ports that are messages to the engine's thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { createApp } from '../../api/app.ts';
import { RateLimit } from '../../api/rate-limit.ts';
import { elapsed, now } from '../../clock.ts';
import { Flags } from '../flags.ts';
import { listen, newRequestId, type RunningServer } from '../http.ts';
import { pack } from './errors.ts';
import { Line } from './line.ts';
import {
  RemoteAccounts,
  remoteActs,
  remoteDirectory,
  remoteReads,
  remoteShowing,
  remoteStatementEnd,
  remoteStatements,
} from './ports.ts';
import type { FromThread, ThreadData, ToThread } from './protocol.ts';

/** How long after its deadline a request waits for the engine's word. */
const PATIENCE_MS = 1_000;

const parent = parentPort;
if (parent === null) throw new Error('an HTTP thread runs in a worker thread only');

const data = workerData as ThreadData;
const post = (message: FromThread): void => parent.postMessage(message);
const line = new Line(post, data.verbose);
const flags = new Flags(data.flags);
const accounts = new RemoteAccounts(line);
const app = createApp({
  journal: remoteReads(line),
  showing: remoteShowing(line),
  statement: remoteStatements(line),
  statementEnd: remoteStatementEnd(line),
  payments: remoteActs(line),
  directory: remoteDirectory(accounts, now),
  rateLimit: new RateLimit(data.buckets, (account) => accounts.placeOf(account), elapsed),
  now,
  elapsed,
  patienceMs: PATIENCE_MS,
  newRequestId,
  trustedProxyHops: data.trustedProxyHops,
  sandbox: data.sandbox,
  bankCallbackSecret: data.bankCallbackSecret,
  state: {
    // While the log is taken up the engine's thread has hardly a turn for questions.
    notReady: async () => flags.whyNot(data.awaited) ?? line.ask('notReady'),
    get opened() {
      return flags.opened;
    },
    get closing() {
      return flags.closing;
    },
    get draining() {
      return flags.draining;
    },
  },
  onFailure: (error, requestId, path) => line.fail(error, requestId, path),
  onAnswer: (answered) => line.observe(answered),
});
let server: RunningServer | null = null;

async function drain(timeoutMs: number): Promise<void> {
  await server?.drain(timeoutMs);
  line.tellObserved();
  post({ drained: true });
}

parent.on('message', (message: ToThread) => {
  if ('replies' in message) line.take(message);
  else void drain(message.drainMs);
});
try {
  server = await listen(app.callback(), data.host, data.port, data.shared);
  post({ listening: server.port });
} catch (error) {
  post({ refused: pack(error) });
}
