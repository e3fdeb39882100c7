/** A real browser for tests: Debian's chromium, or another that is there, with an empty profile that nobody keeps. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** Where a browser lies; null where there is none. @throws Error where `BROWSER_REQUIRED` says that one must be */
export function browserPath(): string | null {
  const found = PLACES.find((path) => existsSync(path)) ?? null;
  if (found === null && process.env.BROWSER_REQUIRED === '1')
    throw new Error(`BROWSER_REQUIRED, and no browser at ${PLACES.join(', ')}`);
  return found;
}

/** Starts it; its profile is a new folder, and goes with it. */
export function openBrowser(executablePath: string, flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath, args: [...FLAGS, ...flags] });
}
