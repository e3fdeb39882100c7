/**
 * The console's streams: reads what comes to the store while somebody watches, and gives each stream its part. While
 * nobody does, nothing is read, and those who write do nothing for it in any case.
 */
import type { Context } from 'koa';
import type { News, Watched } from '../../../engine/store/tail.ts';
import { StoreUnavailable } from '../../../engine/store.ts';
import type { Follower } from '../../../store/open.ts';
import { pause } from '../../../waiting.ts';
import type { PassMarks, Session } from '../../passes.ts';
import type { Farewell } from '../../shapes/live.ts';
import { ConsoleError } from '../errors.ts';
import { textOf } from '../query.ts';
import type { Entrant, SignIn } from '../sign-in.ts';
import { Known, rowsOf } from './rows.ts';
import { Stream } from './stream.ts';

const MOST_STREAMS = 50;
/** Of one session, or of one person whom the proxy has signed in: nobody takes the others' room. */
const MOST_OF_ONE = 8;
/** A session that has ended keeps its streams no longer. */
const CHECK_MS = 5_000;
const LONGEST_MS = 3_600_000;
/** What signs people in before the console is asked again by a new stream alone. */
const LONGEST_BY_PROXY_MS = 60_000;

export interface LiveOptions {
  follower: Pick<Follower, 'look' | 'now' | 'tail'>;
  signIn: SignIn;
  swapMark: PassMarks['swapMark'];
  /** Hears of what went wrong beside a store that is away. */
  onFailure(error: unknown): void;
}

/** A stream, and whose it is. */
interface Opened {
  stream: Stream;
  ctx: Context;
  /** Its session's place; null: the proxy has signed them in. */
  session: string | null;
  by: string;
}

/** What all streams together wait for. */
function watchedBy(opened: readonly Opened[]): Watched {
  const watched = { all: false, accounts: new Set<string>(), transactions: new Set<string>() };
  for (const { stream } of opened) {
    const { account, transaction } = stream.wish;
    if (transaction !== null) watched.transactions.add(transaction);
    else if (account !== null) watched.accounts.add(account);
    else watched.all = true;
  }
  return watched;
}

export class Live {
  readonly #options: LiveOptions;
  readonly #known: Known;
  readonly #opened = new Set<Opened>();
  #isRunning = false;
  #isClosed = false;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#known = new Known((work) => options.follower.look(work));
  }

  /** Answers with a stream. @throws ConsoleError where there are too many */
  open(ctx: Context, entrant: Entrant): void {
    if (this.#isClosed) throw new StoreUnavailable('the console stops');
    this.#findRoom(entrant);
    const { session, by } = entrant;
    const [account, transaction] = [textOf(ctx, 'account'), textOf(ctx, 'transaction')];
    if (ctx.method === 'HEAD') {
      ctx.status = 200;
      return;
    }
    ctx.respond = false;
    // Whoever has left meanwhile is heard of no more.
    if (ctx.req.socket.destroyed) return;
    ctx.res.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'X-Accel-Buffering': 'no' });
    ctx.res.flushHeaders();
    const longestMs = session === null ? LONGEST_BY_PROXY_MS : LONGEST_MS;
    const wish = { account, transaction: transaction?.toLowerCase() ?? null, longestMs };
    const stream = new Stream(wish, ctx.res);
    const opened = { stream, ctx, session: session?.name ?? null, by };
    this.#opened.add(opened);
    ctx.res.on('close', () => this.#opened.delete(opened));
    if (!this.#isRunning) void this.#run();
  }

  /** @throws ConsoleError where there is none */
  #findRoom({ session, by }: Entrant): void {
    const isTheirs = (opened: Opened): boolean =>
      session === null ? opened.session === null && opened.by === by : opened.session === session.name;
    const retry = { 'Retry-After': '5' };
    if ([...this.#opened].filter(isTheirs).length >= MOST_OF_ONE)
      throw new ConsoleError('TOO_MANY_STREAMS', `A session has at most ${MOST_OF_ONE} live pages.`, retry);
    if (this.#opened.size >= MOST_STREAMS)
      throw new ConsoleError('RATE_LIMITED', 'Too many streams are open.', retry);
  }

  /** Ends the streams of a session that somebody has ended here. */
  leave(session: Pick<Session, 'name'> | null): void {
    for (const opened of this.#opened) if (opened.session === session?.name) this.#end(opened, 'session');
  }

  /** Ends all streams; no more begin. */
  close(): void {
    this.#isClosed = true;
    this.#endAll('server');
  }

  #end(opened: Opened, why: Farewell): void {
    this.#opened.delete(opened);
    opened.stream.end(why);
  }

  #endAll(why: Farewell): void {
    for (const opened of this.#opened) this.#end(opened, why);
  }

  /** Reads as long as there is a stream. */
  async #run(): Promise<void> {
    const { follower, onFailure } = this.#options;
    this.#isRunning = true;
    try {
      const tail = await follower.tail();
      while (this.#opened.size > 0) {
        const opened = [...this.#opened];
        const news = await tail.next(watchedBy(opened));
        this.#give(opened, news);
        await this.#check(opened);
        await this.#flush(opened);
        await pause(tail.restMs);
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onFailure(error);
      this.#endAll('store');
    }
    this.#isRunning = false;
  }

  #give(opened: readonly Opened[], { batches, deliveries, passed }: News): void {
    for (const batch of batches) this.#known.note(batch);
    const rows = batches.flatMap(rowsOf);
    for (const each of opened) {
      if (!this.#opened.has(each)) continue;
      const { stream } = each;
      // What came before it was greeted is there to be read.
      if (!stream.isGreeted) {
        stream.greet();
        continue;
      }
      stream.take(rows);
      stream.takeAttempts(deliveries);
      if (passed > 0) stream.miss(passed);
    }
  }

  async #flush(opened: readonly Opened[]): Promise<void> {
    await this.#known.complete(opened.flatMap(({ stream }) => stream.due));
    for (const each of opened) {
      if (!this.#opened.has(each)) continue;
      const why = each.stream.flush();
      if (why === 'gone') each.stream.cut();
      else if (why !== null) this.#end(each, why);
    }
  }

  /** Ends the streams of those who may not read any more. */
  async #check(opened: readonly Opened[]): Promise<void> {
    if (performance.now() - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = performance.now();
    const { follower, signIn, swapMark } = this.#options;
    await follower.look(async ({ marks }) => {
      const read = { mark: (name: string) => marks.mark(name), swapMark };
      for (const each of opened) {
        if (!this.#opened.has(each)) continue;
        try {
          await signIn.entrant(each.ctx, read, follower.now());
        } catch (error) {
          if (!(error instanceof ConsoleError)) throw error;
          this.#end(each, 'session');
        }
      }
    });
  }
}
