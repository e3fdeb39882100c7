/**
 * The worker thread's side of the sender. Messages in: an array of `Send`, or `'close'`; messages out: an array of
 * `SendResult`. After `'close'` and the last results the thread ends by itself.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { SenderLimits } from './limits.ts';
import { LocalSender } from './local.ts';
import type { Send } from './port.ts';

/** The data that the thread is opened with. */
export interface SenderWorkerData {
  allowPrivate: boolean;
  limits: SenderLimits;
}

const port = parentPort;
if (port === null) throw new Error("the sender's worker runs in a worker thread only");

const { allowPrivate, limits } = workerData as SenderWorkerData;
const sender = new LocalSender({ allowPrivate, limits, now: Date.now });
sender.onResults((results) => port.postMessage(results));
port.on('message', (message: Send[] | 'close') => {
  if (message === 'close') void sender.close().then(() => port.close());
  else sender.send(message);
});
