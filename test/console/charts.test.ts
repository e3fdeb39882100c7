/** Every transition of the statecharts is drawn, and none else. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { machines } from '../../machines/index.ts';
import { drawAll } from '../../scripts/charts.ts';
import type { Charts, Drawing } from '../../src/console/ui/chart/geometry.ts';

const test = suite<{ charts: Charts }>('charts');

test.before(async (context) => {
  context.charts = await drawAll();
});

const all = Object.entries(machines) as [string, AnyStateMachine][];

/** `from message to`, read from the machine's own configuration; a state that stays is its own target. */
function transitionsOf(machine: AnyStateMachine): string[] {
  const found = new Set<string>();
  for (const node of Object.values(machine.root.states) as AnyStateNode[]) {
    for (const [message, taken] of Object.entries(node.config.on ?? {})) {
      for (const each of [taken].flat() as (string | { target?: string })[]) {
        const target = typeof each === 'string' ? each : (each.target ?? node.key);
        found.add(`${node.key} ${message} ${target}`);
      }
    }
  }
  return [...found].sort();
}

function drawnIn({ edges, states }: Drawing): string[] {
  const lines = edges.flatMap(({ from, to, labels }) =>
    labels.map(({ message }) => `${from} ${message} ${to}`),
  );
  const stays = states.flatMap(({ id, stays }) => stays.map(({ message }) => `${id} ${message} ${id}`));
  return [...lines, ...stays].sort();
}

function both({ wide, tall }: Charts[string]): [string, Drawing][] {
  return [
    ['wide', wide],
    ['tall', tall],
  ];
}

test('every transition is drawn, and none else', ({ charts }) => {
  assert.equal(Object.keys(charts).sort(), all.map(([name]) => name).sort());
  for (const [name, machine] of all) {
    const chart = charts[name];
    assert.ok(chart !== undefined && transitionsOf(machine).length > 5);
    assert.is(chart.version, Number(machine.version));
    for (const [way, drawing] of both(chart))
      assert.equal(drawnIn(drawing), transitionsOf(machine), `${name}, ${way}`);
  }
});

test('each state is drawn, ended ones as such, and the beginning', ({ charts }) => {
  for (const [name, machine] of all) {
    for (const [, { states, edges }] of both(charts[name] as Charts[string])) {
      assert.equal(states.map(({ id }) => id).sort(), Object.keys(machine.states).sort());
      for (const { id, ended } of states) {
        const node = machine.root.states[id];
        assert.is(ended, node?.tags.includes('ended') || Object.keys(node?.config.on ?? {}).length === 0, id);
      }
      const begun = edges.filter(({ from }) => from === null).map(({ to }) => to);
      assert.equal(begun, [machine.root.initial.target[0]?.key]);
    }
  }
});

test('a message that a clock raises bears the name of its timer', ({ charts }) => {
  const timed = (drawing: Drawing): string[] =>
    [...drawing.edges.flatMap(({ labels }) => labels), ...drawing.states.flatMap(({ stays }) => stays)]
      .filter(({ timer }) => timer !== undefined)
      .map(({ message, timer }) => `${message} ${timer}`);
  for (const [way, drawing] of both(charts['pix-in'] as Charts[string]))
    assert.equal(timed(drawing), ['EXPIRE expiry'], way);
  assert.equal(timed((charts.cashout as Charts[string]).wide), []);
  assert.equal(timed((charts['webhook-delivery'] as Charts[string]).wide), ['ATTEMPT retry']);
});

test('nothing lies outside of a drawing, no state on another, and phones get narrow ones', ({ charts }) => {
  for (const [name] of all) {
    for (const [, { states, edges, width, height }] of both(charts[name] as Charts[string])) {
      for (const { x, y, width: w, height: h } of states)
        assert.ok(x >= 0 && y >= 0 && x + w <= width && y + h <= height);
      for (const one of states)
        for (const other of states)
          if (one !== other)
            assert.ok(
              one.x + one.width <= other.x ||
                other.x + other.width <= one.x ||
                one.y + one.height <= other.y ||
                other.y + other.height <= one.y,
              `${one.id} ${other.id}`,
            );
      for (const { labels } of edges)
        for (const { x, y } of labels) assert.ok(x > 0 && x < width && y > 0 && y < height);
    }
    assert.ok((charts[name]?.tall.width ?? 999) < 500, name);
  }
});

test.run();
