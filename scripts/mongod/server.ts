/** A `mongod` of one's own for tests: standalone, or a replica set of one or three on loopback. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ObjectId } from 'mongodb';
import { ensureMongod } from './install.ts';
import { Member, withAdmin } from './member.ts';

export interface Mongod {
  /** Connection string without a database: all members and `replicaSet=...`, or the standalone server. */
  readonly uri: string;
  /** What runs now: `pid` is -1 for a member that was killed. */
  readonly members: readonly { readonly port: number; readonly pid: number; readonly dir: string }[];
  /** Index of the member that is primary now; waits for an election up to 30 s. */
  primary(): Promise<number>;
  /** kill -9 of one member. */
  kill(index: number): Promise<void>;
  /** Starts a killed member again on its data and port; resolves once it answers. */
  restart(index: number): Promise<void>;
  /** SIGSTOP of one member. */
  freeze(index: number): void;
  /** SIGCONT of one member. */
  thaw(index: number): void;
  /** Stops exactly what was started and removes its folders. Idempotent. */
  stop(): Promise<void>;
}

export interface MongodOptions {
  members: 'standalone' | 1 | 3;
  cacheGb?: number;
  setParameters?: Record<string, string>;
  /**
   * What the set's configuration and `uri` name as the members' ports, by default their own: those of proxies, for
   * example. Called once the members listen; what it names must lead to them, since a member looks for itself there.
   */
  hostPorts?: (ports: readonly number[]) => Promise<readonly number[]>;
}

const SET = 'rs0';
const electionTimeoutMs = 30_000;
const pollMs = 25;

interface Hello {
  isWritablePrimary: boolean;
  secondary?: boolean;
  electionId?: ObjectId;
}

async function hello(member: Member): Promise<Hello | null> {
  if (!member.awake) return null;
  return withAdmin(member.port, (client) => client.db('admin').command({ hello: 1 })).then(
    (answer) => answer as unknown as Hello,
    () => null,
  );
}

async function within<Value>(what: string, probe: () => Promise<Value | null>): Promise<Value> {
  const deadline = Date.now() + electionTimeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== null) return value;
    if (Date.now() > deadline) throw new Error(`${what} within ${electionTimeoutMs} ms`);
    await delay(pollMs);
  }
}

/** The primary's index, or null. A deposed one may still believe in itself: the latest election counts. */
async function findPrimary(members: readonly Member[]): Promise<number | null> {
  const answers = await Promise.all(members.map(hello));
  const claims = answers.flatMap((answer, index) =>
    answer?.isWritablePrimary === true ? [{ index, election: answer.electionId?.toHexString() ?? '' }] : [],
  );
  claims.sort((a, b) => b.election.localeCompare(a.election));
  return claims[0]?.index ?? null;
}

/** Initiates the set; resolves once it has a primary and every other member could become it. */
async function initiate(members: readonly Member[], hosts: readonly string[]): Promise<void> {
  const [first] = members;
  if (first === undefined) throw new Error('a set without members');
  const config = {
    _id: SET,
    members: hosts.map((host, index) => ({ _id: index, host })),
    settings: { electionTimeoutMillis: 2_000, heartbeatIntervalMillis: 500 },
  };
  await withAdmin(first.port, (client) => client.db('admin').command({ replSetInitiate: config }));
  await within('the set has no primary', () => findPrimary(members));
  await within('a member is neither primary nor secondary', async () => {
    const answers = await Promise.all(members.map(hello));
    const ready = answers.every((answer) => answer?.isWritablePrimary === true || answer?.secondary === true);
    return ready || null;
  });
}

async function startMembers(options: MongodOptions): Promise<Member[]> {
  const binary = await ensureMongod();
  const count = options.members === 'standalone' ? 1 : options.members;
  const results = await Promise.allSettled(
    Array.from({ length: count }, () =>
      Member.start({
        binary,
        replicaSet: options.members === 'standalone' ? null : SET,
        cacheGb: options.cacheGb ?? 0.25,
        setParameters: options.setParameters ?? {},
      }),
    ),
  );
  const members = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure === undefined) return members;
  await Promise.all(members.map((member) => member.remove()));
  throw failure.reason;
}

/**
 * Starts a server or a set; resolves once it has a writable primary.
 * @throws with the end of the log where that can't be; nothing is left behind.
 */
export async function startMongod(options: MongodOptions): Promise<Mongod> {
  const members = await startMembers(options);
  const ports = members.map(({ port }) => port);
  const standalone = options.members === 'standalone';
  let hosts: readonly string[];
  try {
    const named = (await options.hostPorts?.(ports)) ?? ports;
    hosts = named.map((port) => `127.0.0.1:${port}`);
    if (!standalone) await initiate(members, hosts);
  } catch (error) {
    const tails = await Promise.all(members.map((member) => member.logTail()));
    await Promise.all(members.map((member) => member.remove()));
    throw new Error(`the server did not start: ${String(error)}\n${tails.join('\n')}`);
  }
  const at = (index: number): Member => {
    const member = members[index];
    if (member === undefined) throw new Error(`no member ${index}`);
    return member;
  };
  return {
    uri: `mongodb://${hosts.join(',')}/${standalone ? '' : `?replicaSet=${SET}`}`,
    members,
    primary: () => within('the set has no primary', () => findPrimary(members)),
    kill: (index) => at(index).kill(),
    restart: (index) => at(index).launch(),
    freeze: (index) => at(index).freeze(),
    thaw: (index) => at(index).thaw(),
    async stop() {
      await Promise.all(members.map((member) => member.remove()));
    },
  };
}
