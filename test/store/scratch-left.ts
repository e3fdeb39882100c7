/** Ends amid a rebuild, as a process does whose store can't write: what the rebuild has put down is in a thread's hands. */
import { rebuildInThread } from '../../src/reader/thread.ts';
import { Folder } from '../cli/support.ts';

await new Folder(process.env.DATA_DIR ?? '').withCore(async ({ place: folder, incarnation }) => {
  const { signal } = new AbortController();
  const restore = async (): Promise<never> => process.exit(1);
  await rebuildInThread({}, { restore }, { folder, incarnation, signal, onPage: () => {} });
});
