/** Which calls of a bank end with the deadline. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PunctualBank } from '../../src/bank/punctual.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { pause } from '../../src/waiting.ts';
import { TestBank } from '../faults/in-process.ts';
import { rejectionOf } from '../support/expect.ts';

const test = suite('a bank in time');
const RECORD = { id: randomUUID(), type: 'pix-in' } as unknown as TransactionRecord;

function slow(bank: TestBank): TestBank {
  bank.whenQueried = async () => {
    await pause(100);
    return [];
  };
  return bank;
}

test('a question ends with the deadline', async () => {
  const bank = new PunctualBank(slow(new TestBank()), 20);
  const { message } = await rejectionOf(Error, bank.query(RECORD, 0));
  assert.match(message, /not answered within 20 ms/);
});

test('one of a bank whose questions wait for their turn ends by itself', async () => {
  class InTurn extends TestBank {
    readonly asksInTurn = true;
  }
  const bank = new PunctualBank(slow(new InTurn()), 20);
  assert.equal(await bank.query(RECORD, 0), []);
});

test.run();
