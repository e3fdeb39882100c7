/** The console's thread: its own reader of the store, and its own server; the engine's thread does the rest. */
import { parentPort, workerData } from 'node:worker_threads';
import { elapsed, now } from '../../clock.ts';
import { type AttentionItem, StoreUnavailable } from '../../engine/store.ts';
import { codeOf } from '../../errors.ts';
import { listen, type RunningServer } from '../../server/http.ts';
import { openFollower } from '../../store/open.ts';
import type { PassMarks } from '../passes.ts';
import type { ConsoleData, ToConsole } from '../protocol.ts';
import { createConsole } from './app.ts';
import { JournalFollower } from './following/journal-follower.ts';
import { JournalsFollower } from './following/journals-follower.ts';
import { type Hosts, ownHosts } from './guard.ts';
import { Line } from './line.ts';
import { Live } from './live/live.ts';
import { Now } from './now/now.ts';
import { SignInProxy } from './proxy.ts';
import { Reference } from './reference.ts';
import { SignIn } from './sign-in.ts';
import { readStatic } from './static.ts';

const parent = parentPort;
if (parent === null) throw new Error("the console's thread runs in a worker thread only");

const { host, port, dataDir, mongodbUri, api, sandbox, version, incarnation, ...settings } =
  workerData as ConsoleData;
const { origin } = settings;
const line = new Line(parent);
const { log } = line;
// What it alone reads by nobody else would say that it lacks.
const onLack = (text: string): void => log.warn({}, text);
const follower = await openFollower({ dataDir, mongodbUri }, { incarnation, now, onLack });
let server: RunningServer | null = null;
let hosts: Hosts = new Map();
const proxy =
  settings.proxy === null
    ? null
    : new SignInProxy({
        ...settings.proxy,
        origin: origin ?? '',
        onForgery: (forgery) => log.warn(forgery, 'somebody plays the proxy before the console'),
      });

const swapMark: PassMarks['swapMark'] = (name, before, text) => line.swapMark(name, before, text);
const following = {
  note: (item: AttentionItem) => line.note(item),
  swapMark,
  onFollowed: (at: number) => line.say({ kind: 'followed', at }),
  onTrouble: (error: unknown) => {
    // The engine's thread says so of a store that is away.
    if (!(error instanceof StoreUnavailable))
      log.warn({ err: error }, 'the journal is read again in a moment');
  },
};
const { journals } = follower;
const journalFollower =
  journals === null
    ? new JournalFollower({ ...following, follower })
    : new JournalsFollower({ ...following, follower, journals, incarnation });
const start = new Now({
  tally: () => line.tally(),
  following: () => journalFollower.progress,
  shared: mongodbUri !== null,
  now: () => follower.now(),
  elapsed,
});

const signIn = new SignIn({
  ...{ sandbox, version, proxy, isSecure: origin !== null },
  onSignIn: (who) => log.info(who, 'somebody signed in at the console'),
});
const live = new Live({
  ...{ follower, signIn, swapMark },
  onFailure: (error) => log.error({ err: error }, "the console's streams failed"),
});
const app = createConsole({
  hosts: () => hosts,
  ...{ follower, swapMark, signIn, live },
  metrics: () => line.metrics(),
  urls: (account) => line.urls(account),
  acts: line,
  ...{ shared: mongodbUri !== null, sandbox },
  now: start,
  proxy,
  reference: new Reference({ api, sandbox }),
  files: readStatic(),
  log,
});

async function drain(timeoutMs: number): Promise<void> {
  start.close();
  live.close();
  await Promise.all([server?.drain(timeoutMs), journalFollower.close()]);
  await follower.close();
  line.say({ kind: 'drained' });
}

parent.on('message', (message: ToConsole) => {
  if (message.kind === 'drain') void drain(message.timeoutMs);
  else line.take(message);
});
try {
  server = await listen(app.callback(), host, port);
  hosts = ownHosts(host, server.port, origin);
  line.say({ kind: 'listening', port: server.port });
} catch (error) {
  line.say({ kind: 'refused', code: codeOf(error) });
}
