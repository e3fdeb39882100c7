/**
 * `pixstate demo`: a merchant's day in seconds, on real HTTP: a server of its own in a temporary folder, a
 * receiver, a charge and its payment, transfers, a refund, every webhook with its signature, the balance, the
 * statement, `verify`.
 * Exit status 0 only where all of it was right.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { WriteStream } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { now } from '../../clock.ts';
import { parseBrCode } from '../../domain/br-code.ts';
import { verifyWebhook } from '../../domain/webhook-signature.ts';
import { textOf } from '../../errors.ts';
import { temporaryFolder } from '../../store/scratch.ts';
import {
  type Answer,
  Children,
  endedBySignal,
  freePort,
  type Issued,
  must,
  until,
  type Webhook,
} from './parts.ts';
import { drawingFor } from './qr-drawing.ts';

const TOLERANCE_S = 300;

class Demo {
  readonly #out: WriteStream;
  readonly #folder: string;
  readonly #webhooks: Webhook[] = [];
  readonly #children = new Children();
  #receiver: Server | null = null;
  #server: ChildProcess | null = null;
  #env: NodeJS.ProcessEnv = {};
  #base = '';
  #account: Issued | null = null;

  constructor(out: WriteStream, folder: string) {
    this.#out = out;
    this.#folder = folder;
  }

  #say(line: string): void {
    this.#out.write(`${line}\n`);
  }

  async run(): Promise<{ balance: number; webhooks: number; verify: object }> {
    await this.#start();
    const charge = await this.#charge();
    await this.#transfer();
    await this.#failure();
    await this.#refund(charge);
    const balance = await this.#balance();
    // 10,000 less 1 % came in, 2,500 and a fee of 50 went out, what failed came back, 1,000 less their fee
    // were refunded.
    must(balance === 6_360, `the balance is ${balance}, not 6360`);
    await this.#statement(balance);
    this.#say(`\nbalance: ${balance} cents`);
    const verify = (await this.#cli(['verify', '--decide'])) as {
      ok: boolean;
      entries: number;
      batches: number;
    };
    must(verify.ok, 'verify found a difference');
    this.#say(`verify: ${verify.entries} entries in ${verify.batches} batches, all sums and hashes right`);
    return { balance, webhooks: this.#webhooks.length, verify };
  }

  async #start(): Promise<void> {
    const receiverPort = await this.#listen();
    const port = await freePort();
    this.#base = `http://127.0.0.1:${port}/v1`;
    const env = {
      PORT: String(port),
      DATA_DIR: this.#folder,
      SANDBOX_DELAY_MS: '150',
      LOG_LEVEL: 'error',
      BANK: 'sandbox',
      CONSOLE: 'off',
    };
    this.#env = { PATH: process.env.PATH, ...env };
    const main = fileURLToPath(new URL('../../main.js', import.meta.url));
    // In a group of its own, so that Ctrl+C reaches the demo alone, which ends it.
    this.#server = this.#children.begin(() =>
      spawn(process.execPath, [main], {
        env: this.#env,
        detached: true,
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    );
    await until(() => this.#isReady(port), 'the start of the server');
    const url = `http://127.0.0.1:${receiverPort}/webhooks`;
    this.#account = (await this.#cli([
      'account',
      'create',
      '--name',
      'Loja Demo',
      '--webhook-url',
      url,
    ])) as Issued;
    this.#say(`server ${this.#base}, receiver ${url}, account ${this.#account.accountId}`);
  }

  async #isReady(port: number): Promise<boolean> {
    must(this.#server?.exitCode === null && this.#server.signalCode === null, 'the server ended');
    try {
      return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
    } catch {
      // Not listening yet.
      return false;
    }
  }

  #listen(): Promise<number> {
    const receiver = createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        const webhook = {
          event: String(req.headers['x-event']),
          headers: req.headers,
          body: Buffer.concat(chunks),
        };
        this.#webhooks.push(webhook);
        this.#say(`  webhook ${webhook.event}  ${req.headers['idempotency-key']}`);
        res.end();
      });
    });
    this.#receiver = receiver;
    return new Promise((resolve, reject) => {
      receiver.once('error', reject);
      receiver.listen(0, '127.0.0.1', () => {
        const address = receiver.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  }

  async #cli(args: string[]): Promise<unknown> {
    const entry = fileURLToPath(new URL('../pixstate.js', import.meta.url));
    const told = await new Promise<string>((resolve, reject) => {
      this.#children.begin(() =>
        execFile(process.execPath, [entry, ...args, '--json'], { env: this.#env }, (error, stdout) => {
          if (error === null) resolve(stdout);
          else reject(error);
        }),
      );
    });
    return JSON.parse(told);
  }

  async #request(method: string, path: string, body?: object): Promise<Answer> {
    const { clientId = '', clientSecret = '' } = this.#account ?? {};
    const headers: Record<string, string> = {
      Authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    };
    const init: RequestInit = { method, headers };
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = JSON.stringify(body);
    }
    const response = await fetch(`${this.#base}${path}`, init);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async #balance(): Promise<number> {
    return Number((await this.#request('GET', '/balance')).body.balance);
  }

  /** Waits for a transaction's events, in order, each with a right signature. */
  async #events(id: unknown, names: string[]): Promise<void> {
    const own = (): Webhook[] => this.#webhooks.filter(({ headers }) => headers['x-transaction-id'] === id);
    await until(() => own().length >= names.length, names.join(', '));
    const arrived = own().map(({ event }) => event);
    must(arrived.join() === names.join(), `the events are ${arrived.join()}, not ${names.join()}`);
    for (const { headers, body } of own())
      must(this.#isSigned(headers, body), 'a webhook has a wrong signature');
  }

  #isSigned(headers: IncomingHttpHeaders, body: Buffer): boolean {
    return verifyWebhook({
      secrets: this.#account?.webhooks.map(({ secret }) => secret) ?? [],
      id: String(headers['webhook-id']),
      timestamp: String(headers['webhook-timestamp']),
      signatureHeader: String(headers['webhook-signature']),
      body,
      now: Math.floor(now() / 1000),
      toleranceSeconds: TOLERANCE_S,
    });
  }

  /** The paid charge's id. */
  async #charge(): Promise<string> {
    this.#say('\nA charge of 10,000 cents:');
    const { status, body } = await this.#request('POST', '/pix-in', {
      amount: 10_000,
      externalRef: 'order-1',
    });
    must(status === 201 && body.status === 'waiting_payment', `POST /pix-in answered ${status}`);
    const { qrcode } = body.pix as { qrcode: string };
    must(parseBrCode(qrcode).amount === 10_000, 'the QR code has another amount');
    this.#say(qrcode);
    const drawing = drawingFor(this.#out, qrcode);
    if (drawing !== null) this.#say(drawing);
    const paid = await this.#request('POST', `/sandbox/pix-in/${body.id}/pay`, { payer: { name: 'Maria' } });
    must(paid.status === 200 && paid.body.status === 'paid', `the payment was answered ${paid.status}`);
    await this.#events(body.id, ['pix-in.waiting_payment', 'pix-in.paid']);
    const balance = await this.#balance();
    must(balance === 9_900, `the balance is ${balance}, not 9900`);
    this.#say(
      `paid: ${paid.body.status} by ${(paid.body.customer as { name: string }).name}, balance ${balance} cents`,
    );
    return String(body.id);
  }

  async #transfer(): Promise<void> {
    this.#say('\nA transfer of 2,500 cents:');
    const transfer = {
      amount: 2_500,
      idempotencyKey: 'payout-1',
      pix: { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' },
    };
    const { status, body } = await this.#request('POST', '/cashout', transfer);
    must(status === 201 && body.status === 'pending', `POST /cashout answered ${status}`);
    const again = await this.#request('POST', '/cashout', transfer);
    must(again.status === 409 && again.body.transactionId === body.id, 'the same key was taken twice');
    await this.#events(body.id, ['cashout.pending', 'cashout.processing', 'cashout.completed']);
    const done = await this.#request('GET', `/cashout?id=${body.id}`);
    must(done.body.status === 'completed', `the transfer is ${done.body.status}`);
    this.#say(`completed: end-to-end id ${done.body.reference}; the same key again was answered 409`);
  }

  async #failure(): Promise<void> {
    this.#say('\nA transfer that fails at the bank (cents 03):');
    const transfer = { amount: 1_003, pix: { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' } };
    const { body } = await this.#request('POST', '/cashout', transfer);
    await this.#events(body.id, ['cashout.pending', 'cashout.processing', 'cashout.failed']);
    this.#say('failed: amount and fee came back');
  }

  async #refund(charge: string): Promise<void> {
    this.#say('\nA refund of 1,000 cents of that charge:');
    const { status, body } = await this.#request('POST', `/pix-in/${charge}/refunds`, {
      amount: 1_000,
      reason: 'one item was broken',
    });
    must(status === 201 && body.status === 'pending', `the refund was answered ${status}`);
    const refund = async (): Promise<boolean> =>
      (await this.#request('GET', `/refunds?id=${body.id}`)).body.status === 'completed';
    await until(refund, 'the end of the refund');
    const left = (await this.#request('GET', `/pix-in?id=${charge}`)).body.refundableAmount;
    must(left === 9_000, `${left} cents remain refundable, not 9000`);
    this.#say('completed: 9,000 cents remain refundable');
  }

  async #statement(balance: number): Promise<void> {
    const { body } = await this.#request('GET', '/statement');
    const rows = body.data as { what: string; amount: number; balance: number }[];
    this.#say('\nThe statement:');
    for (const { what, amount, balance: after } of rows)
      this.#say(`  ${what.padEnd(20)} ${String(amount).padStart(7)} ${String(after).padStart(7)}`);
    must(rows.at(-1)?.balance === balance, 'the statement ends with another balance');
  }

  /** Ends the server and takes the folder away; nothing is begun any more. */
  async close(): Promise<void> {
    await this.#children.end();
    this.#receiver?.closeAllConnections();
    this.#receiver?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Runs the demo; the exit status, above 128 where a signal ended it. Nothing of it is left then, but what it waits for. */
export async function demo(json: boolean): Promise<number> {
  const ended = endedBySignal();
  const demo = new Demo(json ? process.stderr : process.stdout, temporaryFolder('demo'));
  try {
    const result = await Promise.race([demo.run(), ended]);
    if (typeof result === 'number') return result;
    if (json) process.stdout.write(`${JSON.stringify({ ok: true, ...result })}\n`);
    else process.stdout.write('\nAll of it was right.\n');
    return 0;
  } catch (error) {
    const message = textOf(error);
    if (json) process.stdout.write(`${JSON.stringify({ error: 'DEMO_FAILED', message })}\n`);
    process.stderr.write(`The demo failed: ${message}\n`);
    return 1;
  } finally {
    await demo.close();
  }
}
