/**
 * A webhook receiver that counts; GET / tells how many it has answered and when the last one. With the argument `hang`
 * it takes requests and never answers them.
 */
import { createServer } from 'node:http';

const hangs = process.argv[2] === 'hang';
let count = 0;
let last = 0;
const server = createServer((req, res) => {
  if (req.method === 'GET') {
    res.end(JSON.stringify({ count, last }));
    return;
  }
  req.resume();
  if (hangs) return;
  req.on('end', () => {
    count += 1;
    last = Date.now();
    res.end();
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
