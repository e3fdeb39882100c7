import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

const URL_LENGTH_MAX = 2048;

/** IANA's special-purpose registry, without what is globally reachable; documentation and relays included. */
const NOT_PUBLIC_V4: ReadonlyArray<[string, number]> = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Inside 2000::/3 only: everything outside of it (::1, mapped, NAT64, fc00::/7, fe80::/10, ff00::/8) is refused. */
const NOT_PUBLIC_V6: ReadonlyArray<[string, number]> = [
  ['2001::', 23], // protocol assignments: Teredo, benchmarking, ORCHID
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4 carries any IPv4 address
  ['3fff::', 20],
];

const notPublic = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_V4) notPublic.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of NOT_PUBLIC_V6) notPublic.addSubnet(net, prefix, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Whether an address, as DNS or a URL gives it, belongs to the public internet; anything unreadable does not. */
export function publicAddress(ip: string): boolean {
  if (isIPv4(ip)) return !notPublic.check(ip, 'ipv4');
  if (!isIPv6(ip) || ip.includes('%')) return false;
  return globalUnicast.check(ip, 'ipv6') && !notPublic.check(ip, 'ipv6');
}

/** The host of a parsed URL as sockets take it: an IPv6 address without its brackets. */
export function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/**
 * False for a literal address outside the public internet; true for public literals and for names, which are
 * looked up and checked at each connection. Takes the `hostname` of a parsed URL, which has undone every notation
 * of an address (127.1, 2130706433, 0x7f.1).
 */
export function isAllowedLiteral(hostname: string): boolean {
  const address = bareHost(hostname);
  if (hostname.startsWith('[') || isIP(address) !== 0) return publicAddress(address);
  return true;
}

/** Judges a webhook URL when it is configured. The URL is kept as given. */
export function checkWebhookUrl(
  url: string,
  options: { allowPrivate: boolean },
): { ok: true; url: string } | { ok: false; message: string } {
  const refuse = (message: string) => ({ ok: false as const, message });
  if (url.length > URL_LENGTH_MAX) return refuse(`A webhook URL has at most ${URL_LENGTH_MAX} characters.`);
  // The parser would repair these in silence, so that what is shown is not what is called.
  if (!/^https?:\/\/[^/\\]/i.test(url))
    return refuse('A webhook URL starts with https:// or http:// and a host.');
  if (/[\s\p{Cc}\\]/u.test(url))
    return refuse('A webhook URL has no spaces, control characters or backslashes.');
  if (!URL.canParse(url)) return refuse('The webhook URL is not a valid URL.');
  const parsed = new URL(url);
  if (parsed.username !== '' || parsed.password !== '' || /^https?:\/\/[^/?#]*@/i.test(url)) {
    return refuse('A webhook URL carries no credentials.');
  }
  if (url.includes('#')) return refuse('A webhook URL has no fragment.');
  if (parsed.href.length > URL_LENGTH_MAX) {
    return refuse(`A webhook URL has at most ${URL_LENGTH_MAX} characters.`);
  }
  if (!options.allowPrivate && !isAllowedLiteral(parsed.hostname)) {
    return refuse('The webhook URL leads to an address that is not public.');
  }
  return { ok: true, url };
}
