/** Opens and closes files beside a watch over descriptors, and prints what that tells after each step. */
import { closeSync, openSync } from 'node:fs';
import { DescriptorWatch } from '../../src/jobs/descriptors.ts';

const told: string[] = [];
const watch = new DescriptorWatch((text) => told.push(text));
const open: number[] = [];
for (const count of JSON.parse(process.argv[2] ?? '[]') as number[]) {
  while (open.length < count) open.push(openSync('/dev/null', 'r'));
  while (open.length > count) closeSync(open.pop() ?? -1);
  await watch.look();
  await watch.look();
  console.log(JSON.stringify(told.splice(0)));
}
