/** A real browser before a real server, and what must hold on every page: no error, no report, nothing from elsewhere. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Merchant, merchant } from '../../support/client.ts';
import type { Env } from '../../support/process.ts';
import type { Server } from '../../support/server.ts';
import { link, origin, startConsole } from '../visitor.ts';

export const BROWSER = process.env.BROWSER ?? '/usr/bin/chromium';
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** A wait that takes longer has failed; browsers share two cores with other tests. */
const PATIENCE_MS = 60_000;

export type Theme = 'light' | 'dark';

export interface Look {
  width: number;
  theme: Theme;
  language: 'pt-BR' | 'en-GB';
}

export const DESKTOP: Look = { width: 1280, theme: 'light', language: 'en-GB' };

/** A page, with what was wrong on it so far. */
export interface Watched {
  page: Page;
  /** Errors of the console and of scripts, reports of the policy, requests to other origins. */
  wrong: string[];
  /** What may be among it, whenever the browser tells: it does when it likes. */
  forgiven: RegExp[];
  /** Ends the browser; @throws where anything else was wrong */
  close(): Promise<void>;
}

export interface Stage {
  server: Server;
  shop: Merchant;
  /** A page in a browser of its own, with nothing kept from before. */
  open(look?: Partial<Look>): Promise<Watched>;
  /** The same, signed in, at a path. */
  enter(path: string, look?: Partial<Look>, role?: string): Promise<Watched>;
}

/** Runs in each page, before its own scripts. */
const REPORTING = `document.addEventListener('securitypolicyviolation', (event) =>
  reportViolation([event.violatedDirective, event.blockedURI, event.sourceFile].join(' ')))`;

async function watch(context: BrowserContext, own: string, discard: () => Promise<void>): Promise<Watched> {
  const wrong: string[] = [];
  const forgiven: RegExp[] = [];
  await context.exposeFunction('reportViolation', (text: string) => wrong.push(`policy: ${text}`));
  await context.addInitScript({ content: REPORTING });
  const page = context.pages()[0] ?? (await context.newPage());
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') wrong.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`script: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${own}/`)) wrong.push(`request: ${request.url()}`);
  });
  return {
    page,
    wrong,
    forgiven,
    async close() {
      await context.close();
      await discard();
      const left = wrong.filter((text) => !forgiven.some((pattern) => pattern.test(text)));
      assert.equal(left, []);
    },
  };
}

/** Browsers that a failed test has left open. */
const open = new Set<BrowserContext>();

/** A browser before the pages of an origin, with nothing kept from before. */
export async function openBrowser(
  own: string,
  look: Look,
  { args = [], ignoreHTTPSErrors = false }: { args?: string[]; ignoreHTTPSErrors?: boolean } = {},
): Promise<Watched> {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-browser-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: BROWSER,
    args: [...ARGUMENTS, ...args],
    ignoreHTTPSErrors,
    viewport: { width: look.width, height: look.width > 700 ? 860 : 844 },
    colorScheme: look.theme,
    locale: look.language,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  open.add(context);
  context.on('close', () => open.delete(context));
  return watch(context, own, () => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
}

/** What an answer of such a status makes a browser's console say by itself: it is no error of the page. */
export function forgive(watched: Watched, status: number): void {
  watched.forgiven.push(new RegExp(`status of ${status}`));
}

export async function enterBy(watched: Watched, server: Server, role: string, path: string): Promise<void> {
  const { url } = await link(server, ['--role', role, '--by', 'maria']);
  await watched.page.goto(url.replace('/#', `${path}#`));
  await watched.page.locator('main#content').waitFor();
}

function stageOn(server: Server, shop: Merchant): Stage {
  const openPage = (look: Partial<Look> = {}) => openBrowser(origin(server), { ...DESKTOP, ...look });
  return {
    server,
    shop,
    open: openPage,
    async enter(path, look = {}, role = 'operator') {
      const watched = await openPage(look);
      await enterBy(watched, server, role, path);
      return watched;
    },
  };
}

/**
 * A suite on a stage of its own. Where no browser is found it says so and runs nothing, unless `BROWSER_REQUIRED=1`:
 * then it fails. The server may have settings of its own.
 */
export function browserSuite(name: string, fill: (test: Test<Stage>) => void, env: Env = {}): void {
  const test = suite<Stage>(name);
  if (!existsSync(BROWSER)) {
    test(`no browser at ${BROWSER}`, () => {
      assert.is.not(process.env.BROWSER_REQUIRED, '1', `${BROWSER} is required, and isn't there`);
      console.log(`SKIPPED: ${name} needs a browser at ${BROWSER}`);
    });
    test.run();
    return;
  }
  test.before(async (context) => {
    const server = await startConsole({ env });
    Object.assign(
      context,
      stageOn(server, await merchant(server, ['--name', 'Loja Aurora', '--balance', '1000000'])),
    );
  });
  test.after(async ({ server }: Partial<Stage>) => {
    for (const context of open) await context.close();
    // There is none where it didn't start.
    await server?.stop();
  });
  fill(test);
  test.run();
}
