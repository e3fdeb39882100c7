/** What ops are told about the bank, by several processes on one store, one after the other and beside each other. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Notes } from '../../../src/bank/api-pix/notes.ts';
import type { CallEnded } from '../../../src/bank/api-pix/wire/client.ts';
import { MemoryState } from '../../support/memory-store/state.ts';
import { MemoryStore } from '../../support/memory-store/store.ts';
import { sleep } from '../../support/wait.ts';

const test = suite('notes of a bank');

const MINUTE_MS = 60_000;

class Scene {
  readonly clock = { ms: Date.parse('2026-11-01T12:00:00Z') };
  readonly #state = new MemoryState();

  /** A process that has begun just now. */
  begin(incarnation: string): Notes {
    const now = (): number => this.clock.ms;
    const { attention } = new MemoryStore({
      ...{ state: this.#state, incarnation, now, silentAfterMs: 5_000 },
    });
    const note: ConstructorParameters<typeof Notes>[0]['note'] = (items) => attention.note(items);
    const withdraw: ConstructorParameters<typeof Notes>[0]['withdraw'] = (keys) => attention.withdraw(keys);
    return new Notes({ note, withdraw, attention, now, retryScale: 1 });
  }

  async listed(): Promise<string[]> {
    await sleep(1);
    const { attention } = new MemoryStore({
      ...{ state: this.#state, incarnation: 'ops', now: () => this.clock.ms, silentAfterMs: 5_000 },
    });
    return (await attention.page({}, null, 100)).map(({ id, code }) => `${id} ${code}`);
  }
}

function ended(over: Partial<CallEnded> = {}): CallEnded {
  return {
    ...{ call: 'PUT cob', outcome: 'ok', status: null, ms: 1, concern: null, message: '', held: null },
    ...over,
  };
}

const REFUSED = ended({
  outcome: 'not-done',
  status: 403,
  concern: 'scope',
  message: 'the bank answers 403',
});
const ITEM = 'bank-scope-put-cob BANK_SCOPE';

test('an item of a process that died goes with the next start’s first call that works', async () => {
  const scene = new Scene();
  scene.begin('one').called(REFUSED);
  assert.equal(await scene.listed(), [ITEM]);
  scene.begin('two').called(ended());
  assert.equal(await scene.listed(), []);
});

test('an item of a process that died beside another one goes with the other’s next call', async () => {
  const scene = new Scene();
  const other = scene.begin('other');
  other.called(ended());
  scene.begin('dying').called(REFUSED);
  other.called(ended());
  await other.look();
  other.called(ended());
  assert.equal(await scene.listed(), [ITEM], 'whoever noted it may know better');
  scene.clock.ms += 6 * MINUTE_MS;
  await other.look();
  assert.equal(await scene.listed(), [ITEM], 'nothing has shown yet that it works');
  other.called(ended());
  assert.equal(await scene.listed(), []);
});

test('where it still fails for one it is noted again, though it works for another', async () => {
  const scene = new Scene();
  const [one, other] = [scene.begin('one'), scene.begin('other')];
  one.called(REFUSED);
  other.called(ended());
  assert.equal(await scene.listed(), []);
  one.called(REFUSED);
  assert.equal(await scene.listed(), [], 'noted once, until it looks');
  await one.look();
  one.called(REFUSED);
  assert.equal(await scene.listed(), [ITEM]);
});

test('calls that are held back for five minutes are an item, until one goes through', async () => {
  const scene = new Scene();
  const notes = scene.begin('one');
  const held = (by: 'limit' | 'away', minutes: number): CallEnded => {
    const ms = minutes * MINUTE_MS;
    const which = by === 'limit' ? ({ by, call: 'PUT cob', ms } as const) : ({ by, ms } as const);
    return ended({ outcome: 'not-done', message: 'held back', held: which });
  };
  for (const by of ['limit', 'away'] as const) notes.called(held(by, 4));
  assert.equal(await scene.listed(), []);
  notes.called(held('limit', 10));
  assert.equal(await scene.listed(), ['bank-limit-put-cob BANK_LIMIT']);
  notes.called(ended({ call: 'GET cob' }));
  assert.equal(await scene.listed(), ['bank-limit-put-cob BANK_LIMIT'], 'other calls go through');
  notes.called(ended());
  assert.equal(await scene.listed(), []);
  notes.called(held('away', 5));
  assert.equal(await scene.listed(), ['bank-away BANK_AWAY']);
  // The probe asks for a charge that nobody has made.
  notes.called(ended({ call: 'GET cob', outcome: 'not-found' }));
  assert.equal(await scene.listed(), []);
});

test('the URL that the bank doesn’t take is an item, until it does', async () => {
  const scene = new Scene();
  const notes = scene.begin('one');
  notes.webhookRefused('https://shop.example/bank/pix', 'the bank answers 400 (webhook_invalido)');
  assert.equal(await scene.listed(), ['bank-webhook-url BANK_WEBHOOK']);
  notes.webhookTaken();
  assert.equal(await scene.listed(), []);
});

test.run();
