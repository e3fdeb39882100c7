/** Durable creations, against bare Koa and against one call of SQL; then reads of what was created. */
import type { Line } from '../line.ts';
import { type Subject, setAgainst, warmRow } from '../measure.ts';
import { ACCOUNTS, OPTIONS } from '../options.ts';
import { NODE_FLAGS, nextLine, start, stop, temporaryFolder } from '../processes.ts';
import { accounts, folderEnv, serve } from '../server.ts';
import { type Cluster, startCluster } from '../sql/cluster.ts';
import { creations, type Kind, type RequestText, read, sqlTransfers, WAITS } from '../texts.ts';
import { samples } from './samples.ts';

/** One account is limited to 10,000 a second by contract. */
const HOT_ACCOUNTS = 2;
const KINDS: readonly Kind[] = ['pix-in', 'cashout'];
const BARE = 'bare Koa';
const SQL = 'the SQL service';
const SQL_HOT = `${SQL}'s`;

interface Yardsticks {
  post: Line;
  get: Line;
}

async function bareKoa(): Promise<Yardsticks> {
  const child = start([...NODE_FLAGS, 'scripts/bench/bare.ts']);
  const subject = { pid: child.pid ?? 0, port: Number(await nextLine(child)) };
  const post = await warmRow(`${BARE}, POST`, subject, creations('pix-in', ['a:b'], WAITS['pix-in']));
  const get = await warmRow(`${BARE}, GET`, subject, [read('/v1/pix-in?id=1', 'a:b')]);
  await stop(child);
  return { post, get };
}

/** The rival: its transfers on as many accounts, and on one. */
class Rival {
  readonly #cluster: Cluster;
  readonly #service: Awaited<ReturnType<Cluster['serve']>>;

  private constructor(cluster: Cluster, service: Awaited<ReturnType<Cluster['serve']>>) {
    this.#cluster = cluster;
    this.#service = service;
  }

  static async start(): Promise<Rival> {
    const cluster = await startCluster();
    return new Rival(cluster, await cluster.serve());
  }

  get #subject(): Subject {
    const { pid, port } = this.#service;
    return { pid, port, postgresPid: this.#cluster.pid };
  }

  async #row(name: string, ids: readonly string[]): Promise<Line> {
    const line = await warmRow(name, this.#subject, sqlTransfers(ids));
    line.notes.push(`${SQL}: PostgreSQL ${this.#cluster.version}`);
    return line;
  }

  spread(when: string): Promise<Line> {
    const ids = Array.from({ length: ACCOUNTS }, (_, n) => `a${n}`);
    return this.#row(`${SQL}, ${ACCOUNTS} accounts, ${when}`, ids);
  }

  hot(when: string): Promise<Line> {
    return this.#row(`${SQL}, one account, ${when}`, ['hot']);
  }

  async stop(): Promise<void> {
    await stop(this.#service.child);
    await this.#cluster.stop();
  }
}

async function ours(subject: Subject, credentials: readonly string[], on: string): Promise<Line[]> {
  const lines: Line[] = [];
  for (const kind of KINDS) {
    const requests = creations(kind, credentials, WAITS[kind]);
    lines.push(await warmRow(`POST /${kind}, ${on}`, subject, requests));
  }
  return lines;
}

/** Ours between two rows of the rival, so that a machine which changes its mood meanwhile does so to both. */
async function beside(
  rival: Rival | null,
  measureRival: (rival: Rival, when: string) => Promise<Line>,
  name: string,
  measureOurs: () => Promise<Line[]>,
): Promise<Line[]> {
  const before = rival === null ? [] : [await measureRival(rival, 'before')];
  const own = await measureOurs();
  const after = rival === null ? [] : [await measureRival(rival, 'after')];
  const rivals = [...before, ...after];
  if (rivals.length > 0) for (const line of own) setAgainst(line, name, rivals);
  return [...before, ...own, ...after];
}

async function createRows(subject: Subject, credentials: readonly string[], bare: Line): Promise<Line[]> {
  const rival = OPTIONS.sql ? await Rival.start() : null;
  const spread = await beside(
    rival,
    (each, when) => each.spread(when),
    SQL,
    () => ours(subject, credentials, `${ACCOUNTS} accounts`),
  );
  const hot = await beside(
    rival,
    (each, when) => each.hot(when),
    `${SQL_HOT} hot account`,
    () => ours(subject, credentials.slice(0, HOT_ACCOUNTS), 'two hot accounts'),
  );
  await rival?.stop();
  const lines = [...spread, ...hot];
  for (const line of lines) setAgainst(line, BARE, [bare]);
  return lines;
}

async function readRows(subject: Subject, credentials: readonly string[], bare: Line): Promise<Line[]> {
  const wanted: [string, readonly RequestText[]][] = Object.entries(await samples(subject.port, credentials));
  const lines: Line[] = [];
  for (const [name, requests] of wanted) {
    const line = await warmRow(`GET ${name}`, subject, requests);
    setAgainst(line, BARE, [bare]);
    lines.push(line);
  }
  return lines;
}

/** The rows `creates` and `reads`, those of them that are wanted, and their yardsticks. */
export async function createAndReadRows(): Promise<Line[]> {
  const { rows } = OPTIONS;
  const { post, get } = await bareKoa();
  const env = folderEnv(temporaryFolder());
  const credentials = await accounts(env, ACCOUNTS);
  const server = await serve(env);
  const lines = [post];
  if (rows.includes('creates')) lines.push(...(await createRows(server, credentials, post)));
  if (rows.includes('reads')) lines.push(get, ...(await readRows(server, credentials, get)));
  await stop(server.child);
  return lines;
}
