/** A fake bank, and ourselves as its customer, over real TLS. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { ChargeOrder } from '../../../src/bank/api-pix/charges.ts';
import { BankConnection } from '../../../src/bank/api-pix/connection.ts';
import type { BankSettings } from '../../../src/bank/api-pix/settings.ts';
import type { CallEnded } from '../../../src/bank/api-pix/wire/client.ts';
import { CallFailed, type FailureKind } from '../../../src/bank/api-pix/wire/outcome.ts';
import { readBankConfig } from '../../../src/config.ts';
import { FakeBank, OUR_KEY, type StartOptions } from '../../support/bank/bank.ts';
import { rejectionOf } from '../../support/expect.ts';

export class Scene {
  readonly bank: FakeBank;
  readonly ended: CallEnded[] = [];
  us: BankConnection;

  private constructor(bank: FakeBank) {
    this.bank = bank;
    this.us = this.connect();
  }

  static async make(options: StartOptions = {}): Promise<Scene> {
    return new Scene(await FakeBank.start(options));
  }

  settings(env: Record<string, string> = {}): BankSettings {
    const settings = readBankConfig({ ...this.bank.env, ...env });
    if (settings === null) throw new Error('the settings are the sandbox’s');
    return settings;
  }

  connect(env: Record<string, string> = {}): BankConnection {
    return new BankConnection(this.settings(env), {
      now: Date.now,
      onCall: (ended) => void this.ended.push(ended),
    });
  }

  /** Ourselves anew, with other settings or without what is remembered. */
  async again(env: Record<string, string> = {}): Promise<BankConnection> {
    await this.us.close();
    this.us = this.connect(env);
    return this.us;
  }

  async end(): Promise<void> {
    await this.us.close();
    await this.bank.stop();
  }
}

export function chargeOrder(over: Partial<ChargeOrder> = {}): ChargeOrder {
  return {
    ...{ id: randomUUID(), amount: 1234, expiresInS: 3600, pixKey: OUR_KEY },
    ...{ merchantName: 'Loja', merchantCity: 'SAO PAULO', description: null, additionalInfo: null },
    ...{ customer: null, ...over },
  };
}

/** What a call failed with; throws where it didn't fail so. */
export async function failsAs(kind: FailureKind, work: Promise<unknown>): Promise<CallFailed> {
  const error = await rejectionOf(CallFailed, work);
  assert.is(error.kind, kind, error.message);
  return error;
}
