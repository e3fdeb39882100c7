/** `console`: a link that signs in at the console once. */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { addresses, type ConsolePlace } from '../console/addresses.ts';
import { makeLink } from '../console/passes.ts';
import type { Role } from '../console/shapes.ts';
import type { Core } from '../core.ts';
import { Failure } from './failure.ts';
import { Values } from './options.ts';
import type { Outcome } from './output.ts';
import type { Shell, Work } from './running/shell.ts';

const MAX_NAME = 64;
const ALIVE_MS = 2_000;
const ROLES: readonly [Role, Role] = ['viewer', 'operator'];

interface ConsoleOptions {
  role: string;
  by?: string;
  url?: string;
}

function noConsole(why: string): Failure {
  return new Failure('NO_CONSOLE', `no console is served: ${why}`);
}

/** Whether a console answers at an address. */
async function answers(url: string): Promise<boolean> {
  try {
    const { status } = await fetch(`${url}/console/api/me`, { signal: AbortSignal.timeout(ALIVE_MS) });
    return status === 401;
  } catch {
    return false;
  }
}

/** Of the servers on the database: the newest one on this machine that answers, else the newest elsewhere. */
async function sharedPlace({ store }: Core): Promise<ConsolePlace> {
  const known = await addresses(store.marks);
  for (const at of known) if (at.machine === hostname() && (await answers(at.local))) return at;
  const elsewhere = known.find(({ machine }) => machine !== hostname());
  if (elsewhere !== undefined) return elsewhere;
  throw noConsole('no server on the database has one that answers');
}

/** Where the console is. @throws Failure where none is served */
async function consolePlace(core: Core): Promise<ConsolePlace> {
  const { database, place } = core;
  const consoleAt = await core.consoleAt;
  if (consoleAt === null && database !== null) return sharedPlace(core);
  if (consoleAt === null) throw noConsole(`no server runs on ${place}`);
  if ('why' in consoleAt) throw noConsole(consoleAt.why);
  return consoleAt;
}

/** The address that links begin with. @throws Failure where there is none */
async function consoleUrl(core: Core): Promise<string> {
  const { url, hasLinks } = await consolePlace(core);
  if (hasLinks) return url;
  throw new Failure('NO_LINKS', `links are off: CONSOLE_PROXY signs people in at ${url}`);
}

function givenUrl(text: string, values: Values): string {
  const isFit = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (!isFit) values.wrong('--url', `must be an address such as http://127.0.0.1:3001, not "${text}"`);
  return isFit ? new URL(text).origin : '';
}

function link(user: string, { role: givenRole, by: givenBy, url: givenAddress }: ConsoleOptions): Work {
  const values = new Values();
  const role = values.choice('--role', givenRole, ROLES);
  const by = values.text('--by', givenBy ?? user, MAX_NAME);
  const given = givenAddress === undefined ? null : givenUrl(givenAddress, values);
  values.check();
  return async (core): Promise<Outcome> => {
    // Of a folder's server the console is known: where there is none, another address has none either.
    const found = given === null || core.database === null ? await consoleUrl(core) : given;
    const url = given ?? found;
    const visitor = { by, role };
    const key = await makeLink(core.store.marks, visitor, core.now());
    const address = `${url}/#k=${key}`;
    return { document: { url: address, ...visitor }, text: address };
  };
}

/** Adds `console`. */
export function addConsoleCommand(program: Command, shell: Shell): void {
  program
    .command('console')
    .description("a link to a running server's console: it signs in once, within 5 minutes")
    .option('--role <role>', 'viewer, or operator', 'viewer')
    .option('--by <name>', "who signs in (default: the system's user)")
    .option('--url <url>', "the console's address, where another one is meant than the command finds")
    // Where no server runs, nothing may be made.
    .action(async (options: ConsoleOptions) => shell.run('reads', link(shell.user, options)));
}
