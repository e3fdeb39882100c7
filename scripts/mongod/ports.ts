/** Ports on loopback for servers that come back on theirs after an end. */
import { createServer } from 'node:net';

const FIRST = 15_000;
const COUNT = 17_000;

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/**
 * A port that was free a moment ago, below those that systems give to clients and to whoever asks for any: nobody
 * takes it while a killed server is to come back, nor answers there in its place.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) return port;
  }
}
