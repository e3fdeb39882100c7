/** What the sender's thread loads, and when: in a process of its own, as each file is tested. */
import { createRequire } from 'node:module';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { item, localSender, Outbox, receiver } from './receivers.ts';

const test = suite('loading');

const { cache } = createRequire(import.meta.url);

function isLoaded(name: string): boolean {
  return Object.keys(cache).some((path) => path.includes(`/node_modules/${name}/`));
}

test('undici is loaded once a receiver answers as only undici reads it, and not before', async () => {
  const plain = await receiver((response) => response.end());
  const inChunks = await receiver((response) => {
    response.write('in ');
    response.end('chunks');
  });
  const outbox = new Outbox(localSender({}));
  const attempt = async (n: number, url: string): Promise<void> => {
    const { statusCode, error } = await outbox.attempt(item(`${n}`, url));
    assert.equal([statusCode, error], [200, null]);
  };
  try {
    for (let n = 0; n < 3; n++) await attempt(n, plain.url);
    await attempt(3, inChunks.url);
    assert.not(isLoaded('undici'));
    for (let n = 4; n < 7; n++) await attempt(n, inChunks.url);
    assert.ok(isLoaded('undici'));
    await attempt(7, plain.url);
  } finally {
    await outbox.sender.close();
    await plain.close();
    await inChunks.close();
  }
});

test.run();
