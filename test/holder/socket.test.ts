/** The socket of a folder that is held, as those see it who connect to it. */
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Run } from '../../src/holder/answering.ts';
import { askForWay, askToRun } from '../../src/holder/asking.ts';
import { FolderHold, type Self } from '../../src/holder/hold.ts';
import { Busy, GivenWay } from '../../src/holder/works.ts';
import { CannotHold, folderId, type Holder, holderOf } from '../../src/store/folder-lock.ts';
import { withFolder } from '../faults/scene.ts';
import { spawnNode } from '../support/process.ts';
import { sleep, until } from '../support/wait.ts';

const test = suite('the socket of a folder');

const VERSION = '1.2.3';
const SELF: Self = {
  ...{ incarnation: 'of a test', pid: process.pid, since: '2026-01-05T12:00:00.000Z' },
  ...{ version: VERSION, what: 'verify' },
};
const REQUEST = {
  ...{ args: ['account', 'list'], user: 'ops', id: 'once', json: false, isWatched: false },
  settings: { stuckAfterS: 7, allowPrivateWebhooks: true },
};

/** Holds a folder; the body runs with the holder as its lock names it. */
async function withHold(
  run: Run,
  body: (folder: string, holder: Holder, hold: FolderHold) => Promise<void>,
  self = SELF,
): Promise<void> {
  await withFolder(async (folder) => {
    const hold = await FolderHold.take(folder, self, Promise.resolve(run));
    if (hold === null) throw new Error('the folder is held');
    const holder = holderOf(folder);
    if (holder === null) throw new Error('the holder has no name');
    try {
      await body(folder, holder, hold);
    } finally {
      await hold.release();
    }
  });
}

const echo: Run = async ({ args, id, settings, out, err }) => {
  out(JSON.stringify({ args, id, settings }));
  err('aside\n');
  return 3;
};

async function asked(folder: string, holder: Holder, version = VERSION) {
  let err = '';
  const answer = await askToRun({ folder, holder, version }, REQUEST, (text) => {
    err += text;
  });
  return { answer, err };
}

async function refusal(folder: string, holder: Holder, version = VERSION): Promise<string> {
  return asked(folder, holder, version).then(
    ({ answer }) => `answered ${answer.kind}`,
    (error: Error) => error.message,
  );
}

async function expectServes(folder: string, holder: Holder): Promise<void> {
  const { answer, err } = await asked(folder, holder);
  const { args, id, settings } = REQUEST;
  assert.equal(answer, { kind: 'ended', code: 3, out: [JSON.stringify({ args, id, settings })] });
  assert.is(err, 'aside\n');
}

async function closed(socket: Socket): Promise<void> {
  await until(() => socket.destroyed, 5_000, 'the end of the connection');
}

test('is its owner’s only, and goes with the hold; settings and output travel', async () => {
  await withFolder(async (folder) => {
    const hold = await FolderHold.take(folder, SELF, Promise.resolve(echo));
    const holder = holderOf(folder);
    if (hold === null || holder?.socket == null) throw new Error('no holder with a socket');
    assert.is(holder.socket, join(folder, 'pixstate.socket'));
    assert.is(statSync(holder.socket).mode & 0o777, 0o600);
    await expectServes(folder, holder);
    await hold.release();
    assert.not.ok(existsSync(holder.socket));
    assert.is(await refusal(folder, holder), 'answered again');
  });
});

test('output of many messages comes whole, and a failure to run ends in the words of the asker', async () => {
  const long = 'ã\u0000\ud83d\ude00'.repeat(300_000);
  const run: Run = async ({ out }) => {
    out(long);
    return 0;
  };
  await withHold(run, async (folder, holder) => {
    const { answer } = await asked(folder, holder);
    if (answer.kind !== 'ended') throw new Error(answer.kind);
    assert.ok(answer.out.length > 10);
    assert.is(answer.out.join(''), long);
  });
  const failing: Run = async () => {
    throw new Error('nobody thought of it');
  };
  await withHold(failing, async (folder, holder) => {
    assert.match(await refusal(folder, holder), /is held by process \d+ since .* has ended in the middle/);
  });
});

test('output is told in pieces that end between characters, wherever it begins', async () => {
  for (const before of ['', 'x']) {
    const long = `${before}${'\ud83e\uddfe'.repeat(100_000)}`;
    const aside = long.slice(0, before.length + 140_000);
    const run: Run = async ({ out, err }) => {
      out(long);
      err(aside);
      return 0;
    };
    await withHold(run, async (folder, holder) => {
      const asides: string[] = [];
      const answer = await askToRun({ folder, holder, version: VERSION }, REQUEST, (text) => {
        asides.push(text);
      });
      if (answer.kind !== 'ended') throw new Error(answer.kind);
      for (const [told, whole] of [
        [answer.out, long],
        [asides, aside],
      ] as const) {
        assert.ok(told.length > 1);
        // Each is written by itself.
        assert.is(Buffer.concat(told.map((text) => Buffer.from(text))).toString(), whole);
      }
    });
  }
});

test('lies in a folder of its own where its path is too long, which goes with the hold', async () => {
  await withFolder(async (parent) => {
    const folder = join(parent, 'long'.repeat(30));
    mkdirSync(folder);
    const hold = await FolderHold.take(folder, SELF, Promise.resolve(echo));
    const holder = holderOf(folder);
    if (hold === null || holder?.socket == null) throw new Error('no holder with a socket');
    const { socket } = holder;
    assert.is(dirname(dirname(socket)), tmpdir());
    assert.equal([statSync(dirname(socket)).mode & 0o777, statSync(socket).mode & 0o777], [0o700, 0o600]);
    await expectServes(folder, holder);
    // In a copy of the folder, the text names the socket of somebody who lives.
    await withFolder(async (copy) => {
      await cp(folder, copy, { recursive: true });
      const other = await FolderHold.take(copy, SELF, Promise.resolve(echo));
      await other?.release();
      await expectServes(folder, holder);
      assert.is(await refusal(copy, holder), 'answered again', 'the other folder was asked');
    });
    await hold.release();
    assert.not.ok(existsSync(dirname(socket)));
  });
});

test('where none can be made, nothing is held, and the reasons are told', async () => {
  await withFolder(async (parent) => {
    const folder = join(parent, 'long'.repeat(30));
    mkdirSync(folder);
    const before = process.env.TMPDIR;
    process.env.TMPDIR = folder;
    try {
      const error = await FolderHold.take(folder, SELF, Promise.resolve(echo)).catch((reason) => reason);
      assert.instance(error, CannotHold);
      assert.match(error.message, 'no socket can be made (in it Error: the path is too long for a socket');
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    }
    const hold = await FolderHold.take(folder, SELF, Promise.resolve(echo));
    await hold?.release();
    assert.ok(hold !== null, 'it is held by nobody');
  });
});

/** A socket that outlives its process, which listened there and was killed. */
async function deadSocket(path: string): Promise<void> {
  const script = 'require("node:net").createServer().listen(process.argv[1], () => console.log("listening"))';
  const listener = spawnNode(['-e', script, path], {});
  await until(() => listener.stdout().includes('listening'), 15_000, 'a listener');
  listener.child.kill('SIGKILL');
  await listener.ended;
}

test('a dead holder’s is removed by the next one, wherever it lies', async () => {
  await withFolder(async (folder) => {
    const dead = join(await mkdtemp(join(tmpdir(), 'pixstate-socket-')), 'pixstate.socket');
    await deadSocket(dead);
    await deadSocket(join(folder, 'pixstate.socket'));
    writeFileSync(join(folder, 'pixstate.server'), JSON.stringify({ ...SELF, socket: dead }));
    const hold = await FolderHold.take(folder, SELF, Promise.resolve(echo));
    const holder = holderOf(folder);
    if (hold === null || holder === null) throw new Error('no holder');
    assert.not.ok(existsSync(dirname(dead)));
    await expectServes(folder, holder);
    await hold.release();
  });
});

test('nonsense ends a connection and harms nobody', async () => {
  await withHold(echo, async (folder, holder) => {
    const nonsense = [
      ...['no JSON\n', 'null\n', '[]\n', '{}\n', '{"type":"run"}\n', '\u0000\n', '{"type":"giveWay"}\n'],
      `{"type":"run","version":"${VERSION}","args":"account list","settings":{}}\n`,
      `{"type":"run","version":"${VERSION}","args":[1],"settings":{"stuckAfterS":1,"allowPrivateWebhooks":true}}\n`,
      `{"type":"run","version":"${VERSION}","args":[],"settings":{"stuckAfterS":"1"}}\n`,
      `{"type":"kill","version":"${VERSION}"}\n`,
    ];
    for (const text of nonsense) {
      const socket = connect(holder.socket ?? '').on('error', () => {});
      socket.resume().write(text);
      await closed(socket);
    }
    const endless = connect(holder.socket ?? '').on('error', () => {});
    let written = 0;
    const more = (): void => {
      while (!endless.destroyed && written < 64e6) {
        written += 1e6;
        if (!endless.write('x'.repeat(1e6))) break;
      }
    };
    endless.on('drain', more).resume();
    more();
    await closed(endless);
    assert.ok(written < 30e6, `${written} bytes were read of one message`);
    const gone = connect(holder.socket ?? '');
    await new Promise((resolve) => gone.once('connect', resolve));
    gone.destroy();
    await expectServes(folder, holder);
  });
});

test('who doesn’t read its output holds nobody up', async () => {
  const run: Run = async ({ args, out }) => {
    if (args[0] === 'much') out('x'.repeat(20e6));
    return 3;
  };
  await withHold(run, async (folder, holder) => {
    const slow = connect(holder.socket ?? '').on('error', () => {});
    const { settings } = REQUEST;
    slow.write(
      `${JSON.stringify({ type: 'run', version: VERSION, args: ['much'], user: 'ops', settings, json: false, isWatched: false })}\n`,
    );
    await sleep(200);
    assert.equal((await asked(folder, holder)).answer, { kind: 'ended', code: 3, out: [] });
    slow.destroy();
  });
});

test('another version is told which, on both sides', async () => {
  await withHold(echo, async (folder, holder) => {
    const told = await refusal(folder, holder, '2.0.0');
    assert.match(told, 'is held by process');
    assert.match(told, '(verify) of version 1.2.3, and this command is of version 2.0.0');
    const socket = connect(holder.socket ?? '').on('error', () => {});
    socket.resume().write(`${JSON.stringify({ type: 'run', version: '2.0.0', ...REQUEST })}\n`);
    await closed(socket);
  });
});

test('what goes on decides on who gives way, and what is told', async () => {
  await withHold(echo, async (folder, holder, { works }) => {
    const moved = works.run({ kind: 'alone', name: 'migrate-store' }, () => sleep(300));
    assert.is(await askForWay(folder, holder, VERSION), 'migrate-store');
    await moved;
    const reading = works.run({ kind: 'reads', name: 'verify' }, (signal) => {
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const stopped = reading.catch((error: unknown) => error);
    let isWritten = false;
    const writing = works
      .run({ kind: 'writes', name: 'send' }, () => sleep(300))
      .then(() => {
        isWritten = true;
      });
    assert.is(await askForWay(folder, holder, VERSION), null);
    assert.instance(await stopped, GivenWay);
    assert.not.ok(isWritten);
    const late = await works.run({ kind: 'writes', name: 'late' }, async () => {}).catch((error) => error);
    assert.instance(late, GivenWay);
    await works.leave();
    assert.ok(isWritten);
    await writing;
  });
  const busy: Run = async () => {
    throw new Busy('migrate-store');
  };
  await withHold(busy, async (folder, holder) => {
    assert.match(await refusal(folder, holder), 'nothing else is done in it meanwhile');
  });
  const away: Run = async () => {
    throw new GivenWay();
  };
  await withHold(away, async (folder, holder) => {
    assert.is(await refusal(folder, holder), 'answered again');
  });
});

test('a holder that ends before it begins has done nothing: the asker tries again', async () => {
  await withFolder(async (folder) => {
    const socket = join(folder, 'another.socket');
    const holder = { ...SELF, socket };
    await FolderHold.take(folder, SELF, Promise.resolve(echo)).then((hold) => hold?.release());
    const greet = (id: string | null, pid = SELF.pid): string =>
      `${JSON.stringify({ type: 'greeting', version: VERSION, pid, folder: id })}\n`;
    const greeting = greet(folderId(folder));
    const said = [
      ['answered again', ''],
      ['answered again', greet('another')],
      ['answered again', `${greet(folderId(folder), SELF.pid + 1)}{"type":"begun"}\n`],
      ['answered again', greeting],
      ['has ended in the middle', `${greeting}{"type":"begun"}\n`],
      ['has ended in the middle', `${greeting}{"type":"begun"}\nx\n`],
    ];
    for (const [end = '', words = ''] of said) {
      const server = createServer((one) => {
        one.on('error', () => {});
        one.once('data', () => {
          if (words !== '') one.destroy();
        });
        one.write(words, () => {
          if (words === '') one.destroy();
        });
      });
      await new Promise<void>((resolve) => server.listen(socket, resolve));
      assert.match(await refusal(folder, holder), end, words);
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

test('an asker that has gone stops what it asked to read, and nothing that writes', async () => {
  const done: string[] = [];
  let works: FolderHold['works'] | null = null;
  const run: Run = async ({ args, gone }) => {
    const [kind] = args;
    if (kind !== 'reads' && kind !== 'writes') throw new Error('no kind');
    await works?.run({ kind, name: 'x', gone }, async (signal) => {
      await sleep(400);
      done.push(`${kind} ${signal.aborted ? 'stopped' : 'done'}`);
    });
    return 0;
  };
  await withHold(run, async (_, holder, hold) => {
    works = hold.works;
    for (const kind of ['reads', 'writes']) {
      const socket = connect(holder.socket ?? '').on('error', () => {});
      const { settings, user } = REQUEST;
      const asked = { type: 'run', version: VERSION, args: [kind], user, settings };
      socket.resume().write(`${JSON.stringify(asked)}\n`);
      await sleep(100);
      socket.destroy();
    }
    await until(() => done.length === 2, 5_000, 'both');
    assert.equal(done, ['reads stopped', 'writes done']);
  });
});

test.run();
