/**
 * Who reads `docs/bank.md`: a customer of a bank for tests, which answers in the place of the page's bank. Its
 * customers pay every charge within a second, and it calls back as registered.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { FakeBank } from '../../test/support/bank/bank.ts';
import { callBack } from '../../test/support/bank/callbacks.ts';
import { shownPayment } from '../../test/support/bank/state.ts';
import { Reader } from './reader.ts';

export const BANK_PAGE = 'docs/bank.md';
const PAID_EVERY_MS = 500;

/** Everybody pays what waits. */
async function payAll(bank: FakeBank): Promise<void> {
  for (const { txid, status, body } of bank.state.charges.values()) {
    if (status !== 'ATIVA') continue;
    const { valor, chave } = body as { valor: { original: string }; chave: string };
    const payment = bank.state.pay({ txid, amount: valor.original, key: chave });
    const webhookUrl = bank.state.webhooks.get(chave);
    if (webhookUrl !== undefined)
      await callBack({ webhookUrl, elements: [shownPayment(payment)], client: bank.client });
  }
}

/** The files that the page names, as the bank and its customer have them. */
function fillFolder(folder: string, bank: FakeBank): void {
  mkdirSync(folder);
  const door = bank.certificates.certificate('door-of-the-page');
  const files = [
    [bank.client.certFile, 'client.crt'],
    [bank.client.keyFile, 'client.key'],
    [door.certFile, 'door.crt'],
    [door.keyFile, 'door.key'],
    [bank.authority.certFile, 'authority.crt'],
  ] as const;
  for (const [from, name] of files) copyFileSync(from, join(folder, name));
}

export async function openBankPage(): Promise<{ reader: Reader; close(): Promise<void> }> {
  const bank = await FakeBank.start({ profile: 'efi' });
  const paying = setInterval(() => void payAll(bank), PAID_EVERY_MS);
  const reader = await Reader.open({
    serves: false,
    env: { BANK_CA_FILE: bank.authority.certFile },
    words: (folder) => [
      ['https://pix.api.efipay.com.br', bank.url],
      ['./bank/', join(folder, 'bank/')],
    ],
    prepare: (folder) => fillFolder(join(folder, 'bank'), bank),
  });
  return {
    reader,
    close: async () => {
      clearInterval(paying);
      await bank.stop();
      if (bank.violations.length > 0)
        throw new Error(`the bank was asked wrongly: ${JSON.stringify(bank.violations)}`);
    },
  };
}
