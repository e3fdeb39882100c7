/**
 * The engine's end of an HTTP thread's line: carries out what the thread asks for.
 *
 * 1. A command that isn't decided at its deadline is dropped here and nowhere else, and the thread is told so.
 * 2. A command whose caller has left, or whose thread is gone, is dropped if it isn't decided yet.
 * 3. What is answered in one turn of the event loop travels in one message.
 * 4. A thread listens before the store is open: calls that come by then wait for the engine.
 */
import type { AccountReads, Directory } from '../../accounts/directory.ts';
import type { Answered, ServerState } from '../../api/app.ts';
import type { Acts, ApiReads, CommandOptions, ReadPage } from '../../api/context.ts';
import type { BucketPlaces } from '../../api/rate-limit.ts';
import type { Showing } from '../../api/showing.ts';
import { Abandoned } from '../../engine/actors/host.ts';
import type { StatementEnd } from '../../engine/statement/end.ts';
import type { SpareTime } from '../../spare-time.ts';
import { onceATurn } from '../../waiting.ts';
import { pack, unpack } from './errors.ts';
import type {
  Account,
  Call,
  Command,
  CommandName,
  Commands,
  FromThread,
  Known,
  Observed,
  Question,
  QuestionName,
  Questions,
  Replies,
  Reply,
} from './protocol.ts';

/** What an HTTP thread needs from its beginning on. */
export interface ThreadPorts {
  /** Milliseconds of the clock that deadlines go by. */
  elapsed(): number;
  /** Times of answers, for metrics. */
  onObserved(observed: Observed): void;
  /** Each answer, where the log tells of them. */
  onAnswered(answered: Answered): void;
  /** A 5xx with its cause, for the log. */
  onFailure(error: unknown, requestId: string, path: string): void;
}

/** What an HTTP thread reaches by its line once the store is open. */
export interface EnginePorts {
  journal: ApiReads;
  showing: Showing;
  statement: ReadPage;
  statementEnd: StatementEnd;
  payments: Acts;
  /** The store's settings, and not what is known of them here. */
  accounts: AccountReads;
  directory: Pick<Directory, 'account'>;
  places: BucketPlaces;
  state: Pick<ServerState, 'notReady'>;
  /** So many calls of a message begin together, as the engine decides them. */
  together: number;
  /** Is told of callers. */
  spareTime: Pick<SpareTime, 'called'>;
}

type QuestionHandlers = {
  [Name in QuestionName]: (...args: Questions[Name]['args']) => Promise<Questions[Name]['result']>;
};
type CommandHandlers = {
  [Name in CommandName]: (
    options: CommandOptions,
    ...args: Commands[Name]['args']
  ) => Promise<Commands[Name]['result']>;
};

function questionsTo(ports: EnginePorts): QuestionHandlers {
  const { journal, showing, payments, accounts, places, state } = ports;
  const known = (account: Account | null): Known | null =>
    account === null ? null : { account, place: places.of(account.id) };
  return {
    head: async (account) => journal.head(account),
    read: async (account, wants) => journal.read(account, wants),
    transaction: (id) => journal.transaction(id),
    entries: (account, transaction, seqs) => journal.entries(account, transaction, seqs),
    deliveries: (transaction) => journal.deliveries(transaction),
    shownById: (account, type, id) => showing.byId(account, type, id),
    shownByName: (account, name, key) => showing.byName(account, name, key),
    statementEnd: (account, from) => ports.statementEnd(account, from),
    account: async (id) => known(await accounts.get(id)),
    client: async (clientId) => known(await accounts.byClientId(clientId)),
    noteUnknown: (message) => payments.noteUnknown(message),
    noteUndecided: (message, reason) => payments.noteUndecided(message, reason),
    notReady: () => state.notReady(),
  };
}

function commandsTo({ payments, directory, statement }: EnginePorts): CommandHandlers {
  const settings = async (id: string): Promise<Account> => {
    const account = await directory.account(id);
    if (account === null) throw new Error(`there is no account ${id}`);
    return account;
  };
  return {
    statement: (options, account, wish) => statement(account, wish, options),
    createCharge: async (options, id, request) => payments.createCharge(await settings(id), request, options),
    createTransfer: async (options, id, request) =>
      payments.createTransfer(await settings(id), request, options),
    refund: async (options, id, request) => payments.refund(await settings(id), request, options),
    cancel: async (options, id, request) => payments.cancel(await settings(id), request, options),
    tell: (options, record, incoming, door) => payments.tell(record, incoming, door, options),
    recordInvalid: (options, record, incoming, problem) =>
      payments.recordInvalid(record, incoming, problem, options),
  };
}

async function answerTo<Name extends QuestionName>(
  handlers: QuestionHandlers,
  { name, args }: Question<Name>,
): Promise<unknown> {
  return handlers[name](...args);
}

async function carryOut<Name extends CommandName>(
  handlers: CommandHandlers,
  { name, args }: Command<Name>,
  options: CommandOptions,
): Promise<unknown> {
  return handlers[name](options, ...args);
}

/** The engine, as calls reach it. */
interface Engine extends Pick<EnginePorts, 'together' | 'spareTime'> {
  questions: QuestionHandlers;
  commands: CommandHandlers;
}

interface Open {
  deadline: number;
  isDropped: boolean;
}

/** One thread's end; a thread that takes the place of a dead one gets another. */
export class Answering {
  readonly #ports: ThreadPorts;
  readonly #post: (replies: Replies) => void;
  /** Null until the store is open. */
  #engine: Engine | null = null;
  /** Commands without an answer. */
  readonly #open = new Map<number, Open>();
  #replies: Reply[] = [];
  #texts: Replies['texts'] = [];
  /** Calls that have not begun. */
  #calls: Call[] = [];
  #isTaking = false;
  readonly #schedule = onceATurn(() => this.#flush());
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #ended = false;

  constructor(ports: ThreadPorts, post: (replies: Replies) => void) {
    this.#ports = ports;
    this.#post = post;
  }

  /** Carries out calls from now on. */
  serve(ports: EnginePorts): void {
    const { together, spareTime } = ports;
    this.#engine = { together, spareTime, questions: questionsTo(ports), commands: commandsTo(ports) };
    this.#takeCalls();
  }

  /** Takes what the thread says. */
  take({ calls, foreign, left, observed, answered, failed }: FromThread): void {
    if (calls !== undefined) this.#calls.push(...(JSON.parse(calls) as Call[]));
    if (foreign !== undefined) this.#calls.push(...foreign);
    if (left !== undefined) this.#leave(left);
    this.#takeCalls();
    for (const each of observed ?? []) this.#ports.onObserved(each);
    for (const answer of answered ?? []) this.#ports.onAnswered(answer);
    for (const { error, requestId, path } of failed ?? [])
      this.#ports.onFailure(unpack(error), requestId, path);
  }

  #takeCalls(): void {
    if (this.#engine !== null && !this.#isTaking && this.#calls.length > 0) this.#takeSome(this.#engine);
  }

  /** Begins some of the calls; the others' turn comes after that of what the first ones gave. */
  #takeSome(engine: Engine): void {
    for (const call of this.#calls.splice(0, engine.together)) this.#begin(engine, call);
    this.#isTaking = this.#calls.length > 0;
    if (this.#isTaking) setImmediate(() => this.#takeSome(engine));
  }

  /** The thread is gone: what it waited for is dropped. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#calls = [];
    for (const n of this.#open.keys()) this.#drop(n);
  }

  /** Those who made these calls have left: what hasn't begun never does. */
  #leave(left: readonly number[]): void {
    this.#calls = this.#calls.filter(({ n }) => !left.includes(n));
    for (const n of left) this.#drop(n);
  }

  #drop(n: number): void {
    const open = this.#open.get(n);
    if (open === undefined) return;
    open.isDropped = true;
    this.#open.delete(n);
  }

  #begin({ spareTime, questions, commands }: Engine, call: Call): void {
    spareTime.called();
    if ('deadline' in call) this.#beginCommand(commands, call);
    else this.#beginQuestion(questions, call);
  }

  #beginQuestion(questions: QuestionHandlers, question: Question): void {
    const { n } = question;
    answerTo(questions, question).then(
      (value) => this.#reply({ n, value }),
      (error: unknown) => this.#reply({ n, error: pack(error) }),
    );
  }

  #beginCommand(commands: CommandHandlers, command: Command): void {
    const { n, weight, deadline } = command;
    const open: Open = { deadline, isDropped: false };
    this.#open.set(n, open);
    this.#wakeAt(deadline);
    const abandoned = (): boolean => open.isDropped || this.#ports.elapsed() >= deadline;
    carryOut(commands, command, { weight, deadline, abandoned, onDropped: () => {} }).then(
      (value) => this.#replyTo(n, { n, value }),
      // Past its deadline, and found so before the timer's turn came.
      (error: unknown) =>
        this.#replyTo(n, error instanceof Abandoned ? { n, dropped: true } : { n, error: pack(error) }),
    );
  }

  /** What was dropped gets no answer. */
  #replyTo(n: number, reply: Reply): void {
    if (this.#open.delete(n)) this.#reply(reply);
  }

  #reply(reply: Reply): void {
    if ('value' in reply && typeof reply.value === 'string') this.#texts.push(reply.n, reply.value);
    else this.#replies.push(reply);
    this.#schedule();
  }

  #flush(): void {
    const [replies, texts] = [this.#replies, this.#texts];
    this.#replies = [];
    this.#texts = [];
    if (!this.#ended) this.#post({ replies: JSON.stringify(replies), texts });
  }

  /** One timer for all: set for the earliest deadline of when it is set, and mostly nobody waits any more then. */
  #wakeAt(deadline: number): void {
    if (deadline >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = deadline;
    this.#timer = setTimeout(() => this.#dropLate(), Math.max(1, deadline - this.#ports.elapsed()));
  }

  #dropLate(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#ports.elapsed();
    let earliest = Number.POSITIVE_INFINITY;
    for (const [n, { deadline }] of this.#open) {
      if (deadline > now) earliest = Math.min(earliest, deadline);
      else {
        this.#drop(n);
        this.#reply({ n, dropped: true });
      }
    }
    if (earliest !== Number.POSITIVE_INFINITY) this.#wakeAt(earliest);
  }
}
