/** A webhook receiver that counts; GET / tells how many came and when the last one did. */
import { createServer } from 'node:http';

let count = 0;
let last = 0;
const server = createServer((req, res) => {
  if (req.method === 'GET') {
    res.end(JSON.stringify({ count, last }));
    return;
  }
  req.resume();
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
