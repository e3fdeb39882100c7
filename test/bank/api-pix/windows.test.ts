/** Reconciliation's walk over windows and pages. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ListShifted, type Window } from '../../../src/bank/api-pix/payments.ts';
import { DAY_MS, nextSpan, walk, windowsOf } from '../../../src/bank/api-pix/reconciling/windows.ts';
import { CallFailed } from '../../../src/bank/api-pix/wire/outcome.ts';
import { holds } from '../../domain/holds.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import { Scene } from './scene.ts';

const test = suite('windows');

test('windows cover a span without a gap, none longer than a day', () => {
  const at = fc.integer({ min: 0, max: 90 * DAY_MS });
  holds(
    fc.property(at, at, (one, other) => {
      const span = { from: Math.min(one, other), to: Math.max(one, other) };
      const windows = windowsOf(span);
      assert.is(windows.length, Math.ceil((span.to - span.from) / DAY_MS));
      let reached = span.from;
      for (const { from, to } of windows) {
        assert.is(from, reached);
        assert.ok(to > from && to - from <= DAY_MS);
        reached = to;
      }
      assert.is(reached, span.to);
    }),
  );
});

test('a span begins an hour before the last one’s end, at first two days back, and ends two minutes ago', () => {
  const now = Date.parse('2026-11-10T12:00:00Z');
  const minute = 60_000;
  assert.equal(nextSpan(null, now), { from: now - 2 * DAY_MS, to: now - 2 * minute });
  assert.equal(nextSpan(now - 5 * minute, now), { from: now - 65 * minute, to: now - 2 * minute });
  assert.equal(nextSpan(now, now, 0.001)?.to, now - 120);
  assert.is(nextSpan(now + 2 * 60 * minute, now), null, 'a clock that was set back');
});

/** A list that fails where it is told to. */
function scripted(results: (readonly number[][] | Error)[]) {
  const read: Window[] = [];
  const looked: number[] = [];
  const moved: number[] = [];
  async function* list(window: Window): AsyncGenerator<readonly number[]> {
    read.push(window);
    const result = results.shift() ?? [];
    if (result instanceof Error) throw result;
    yield* result;
  }
  const walked = {
    list,
    look: async (items: readonly number[]) => void looked.push(...items),
    moved: async (to: number) => void moved.push(to),
  };
  return { walked, read, looked, moved };
}

test('what was walked stays walked, and the window that failed is not passed over', async () => {
  const { walked, read, looked, moved } = scripted([[[1], [2]], new CallFailed('unknown', 'away')]);
  try {
    await walk({ from: 0, to: 3 * DAY_MS }, walked);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, CallFailed);
  }
  assert.equal([looked, moved, read.length], [[1, 2], [DAY_MS], 2]);
});

test('a list that shifts is read again, three times at most', async () => {
  const shifted = scripted([new ListShifted(), [[1]]]);
  await walk({ from: 0, to: DAY_MS }, shifted.walked);
  assert.equal([shifted.looked, shifted.moved, shifted.read.length], [[1], [DAY_MS], 2]);
  const always = scripted([new ListShifted(), new ListShifted(), new ListShifted(), [[1]]]);
  await walk({ from: 0, to: DAY_MS }, always.walked).catch((error: unknown) =>
    assert.instance(error, ListShifted),
  );
  assert.equal([always.moved, always.read.length], [[], 3]);
});

test('pages that shift under the reader lose nothing', async () => {
  const scene = await Scene.make();
  const from = Date.parse('2026-10-01T00:00:00Z');
  for (let nth = 0; nth < 1_500; nth++)
    scene.bank.state.pay({ amount: '1.00', key: OUR_KEY, at: from + 60_000 + nth });
  // An old payment is listed late, and moves all that follows by one place while the second page is read.
  scene.bank.fault('LIST pix', { kind: 'slow', ms: 0 });
  scene.bank.fault('LIST pix', { kind: 'slow', ms: 100 });
  const seen = new Set<string | null>();
  const moved: number[] = [];
  await walk(
    { from, to: from + DAY_MS },
    {
      list: (window) => scene.us.payments.list(window),
      look: async (items) => {
        if (seen.size === 0) scene.bank.state.pay({ amount: '1.00', key: OUR_KEY, at: from });
        for (const { endToEndId } of items) seen.add(endToEndId);
      },
      moved: async (to) => void moved.push(to),
    },
  );
  assert.is(seen.size, 1_501);
  assert.equal(moved, [from + DAY_MS]);
  await scene.end();
});

test.run();
