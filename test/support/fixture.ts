import { suite } from 'uvu';

/** Registers what must be undone at the end of a suite, all at once. */
export type Defer = (undo: () => unknown) => void;

/** A suite whose tests share one fixture. */
export interface FixtureSuite<Fixture> {
  test(title: string, body: (fixture: Fixture) => void | Promise<void>): void;
  run(): void;
}

/**
 * A uvu suite around one fixture. It is opened by a test of its own, since uvu passes over an error in a
 * `before` hook; when that fails, all the others fail as well. The last test undoes what `open` registered.
 */
export function fixtureSuite<Fixture>(
  name: string,
  open: (defer: Defer) => Promise<Fixture>,
): FixtureSuite<Fixture> {
  const tests = suite(name);
  const undone: (() => unknown)[] = [];
  let opened: { fixture: Fixture } | undefined;
  tests('the fixture opens', async () => {
    opened = { fixture: await open((undo) => undone.push(undo)) };
  });
  return {
    test: (title, body) =>
      tests(title, async () => {
        if (opened === undefined) throw new Error('the fixture did not open');
        await body(opened.fixture);
      }),
    run() {
      tests('the fixture closes', async () => {
        const results = await Promise.allSettled(undone.map(async (undo) => undo()));
        const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
        if (failed.length > 0) throw new AggregateError(failed, failed.map(String).join('; '));
      });
      tests.run();
    },
  };
}
