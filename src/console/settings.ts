/** The configuration of the console's way in: what stands before it, and how who comes from there is known. */
import { BlockList, isIP } from 'node:net';

/** What reads the environment, and keeps the mistakes. */
interface EnvironmentReader {
  readonly mistakes: string[];
  /** Null where the variable is unset or empty. */
  text(name: string): string | null;
  /** What stands between the commas of its text, without what is empty. */
  list(name: string): string[] | null;
}

/** A proxy that signs people in, and says by headers who they are. */
export interface ProxySettings {
  /** The addresses that it connects from, as networks: `10.0.0.5/32`. */
  peers: string[];
  /** Bears the person's name, in small letters. */
  userHeader: string;
  /** Bears the person's groups, with commas or bars between them; null: all are viewers. */
  groupsHeader: string | null;
  /** Who is in one of these groups is an operator. */
  operators: string[];
}

export interface ConsoleSettings {
  /** The address under which a proxy serves the console: `https://ops.example`; null: there is none. */
  origin: string | null;
  /** Null: people sign in with links. */
  proxy: ProxySettings | null;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Networks as a list that addresses are looked up in. @throws where one is none */
export function networksOf(peers: readonly string[]): BlockList {
  const list = new BlockList();
  for (const peer of peers) {
    const [address = '', prefix = ''] = peer.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** A network, or an address as the network of itself alone; null where a text is neither, or means everybody. */
function network(text: string): string | null {
  const [, address = '', given] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const kind = isIP(address);
  const most = kind === 6 ? 128 : 32;
  const prefix = given === undefined ? most : Number(given);
  return kind === 0 || prefix < 1 || prefix > most ? null : `${address}/${prefix}`;
}

function readOrigin(reader: EnvironmentReader): string | null {
  const text = reader.text('CONSOLE_ORIGIN');
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isBare = url?.protocol === 'https:' && url.href === `${url.origin}/`;
  if (isBare && !/[?#]/.test(text)) return url.origin;
  reader.mistakes.push(`CONSOLE_ORIGIN must be an origin such as https://ops.example, not "${text}"`);
  return null;
}

function readPeers(reader: EnvironmentReader): string[] {
  const texts = reader.list('CONSOLE_PROXY');
  if (texts === null) return [];
  const peers = texts.map(network).filter((peer) => peer !== null);
  if (peers.length < texts.length || texts.length === 0)
    reader.mistakes.push(
      `CONSOLE_PROXY must be the proxy's address or network, such as 10.0.0.5/32, not "${reader.text('CONSOLE_PROXY')}"`,
    );
  return peers;
}

function readHeader(reader: EnvironmentReader, name: string, given: string | null): string | null {
  const header = given?.toLowerCase() ?? null;
  if (header === null || TOKEN.test(header)) return header;
  reader.mistakes.push(`${name} must be a header's name, such as x-forwarded-email, not "${given}"`);
  return null;
}

/** Reads what begins with CONSOLE_, and tells the reader of every mistake. */
export function readConsoleSettings(reader: EnvironmentReader): ConsoleSettings {
  const origin = readOrigin(reader);
  const peers = readPeers(reader);
  const userHeader = readHeader(reader, 'CONSOLE_USER_HEADER', reader.text('CONSOLE_USER_HEADER'));
  const groupsHeader = readHeader(reader, 'CONSOLE_GROUPS_HEADER', reader.text('CONSOLE_GROUPS_HEADER'));
  const operators = reader.list('CONSOLE_OPERATORS');
  if (operators?.length === 0)
    reader.mistakes.push(
      `CONSOLE_OPERATORS must be groups with commas between them, not "${reader.text('CONSOLE_OPERATORS')}"`,
    );
  const needs = (name: string, other: string, why: string): void => {
    if (reader.text(name) !== null && reader.text(other) === null)
      reader.mistakes.push(`${name} needs ${other}: ${why}`);
  };
  needs('CONSOLE_PROXY', 'CONSOLE_ORIGIN', 'the address under which the proxy serves the console');
  needs('CONSOLE_PROXY', 'CONSOLE_USER_HEADER', 'the header by which the proxy says who somebody is');
  for (const name of ['CONSOLE_USER_HEADER', 'CONSOLE_GROUPS_HEADER'])
    needs(name, 'CONSOLE_PROXY', 'from elsewhere anybody could send it');
  needs('CONSOLE_OPERATORS', 'CONSOLE_GROUPS_HEADER', 'the header by which groups are told');
  needs('CONSOLE_GROUPS_HEADER', 'CONSOLE_OPERATORS', 'the groups whose members are operators');
  const isBehind = peers.length > 0 && userHeader !== null;
  return { origin, proxy: isBehind ? { peers, userHeader, groupsHeader, operators: operators ?? [] } : null };
}
