/** How URLs do: what this process's last attempts came to, which the engine's thread keeps in memory. */
import type { StoreReads } from '../../../engine/store.ts';
import type { SeenUrls } from '../../protocol.ts';
import type { UrlList } from '../../shapes/deliveries.ts';
import { mask } from '../masking.ts';

/** The URLs that accounts still have, the worst first. `shared`: other processes attempt deliveries of this store, too. */
export async function urlList(
  { accounts }: StoreReads,
  { urls, others, since }: SeenUrls,
  shared: boolean,
): Promise<UrlList> {
  const ids = [...new Set(urls.map(({ account }) => account))];
  const found = await Promise.all(ids.map((id) => accounts.get(id)));
  const byId = new Map(ids.map((id, index) => [id, found[index] ?? null]));
  const rows = urls.flatMap((health) => {
    const account = byId.get(health.account) ?? null;
    const isThere = account?.webhooks.some(({ url }) => url === health.url) ?? false;
    return isThere ? [{ ...health, accountName: mask(account?.name ?? '') }] : [];
  });
  return { urls: rows, others, since, shared };
}
