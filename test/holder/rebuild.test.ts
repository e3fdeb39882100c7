/** `rebuild` of a damaged folder beside a server that goes on creating. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified, withFolder, withServer } from '../faults/scene.ts';
import { cli, cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { charge, transfer } from '../support/flows.ts';
import { at, text, whole } from '../support/json.ts';
import { withStoredTables } from '../support/stored-tables.ts';

const test = suite('rebuild beside a server');

const CHARGES = 40;
/** More than a rebuild leaves time for to pay out. */
const OPENING = 1_000_000_000;

/** The server's log goes to a folder: what is damaged are the tables of the embedded store. */
const EMBEDDED = { MONGODB_URI: '' };

test('what was lost is there again, and what was created meanwhile is there as well', async () => {
  await withFolder(async (dataDir) => {
    const lost: string[] = [];
    await withServer({ dataDir, env: EMBEDDED }, async (server) => {
      const known = await merchant(server, ['--balance', String(OPENING)]);
      for (let n = 0; n < CHARGES; n += 1)
        lost.push(text(await charge(known, 1_000, { externalRef: `old-${n}` }), 'id'));
      await server.terminate();
      await withStoredTables(dataDir, ({ records, lookups }) => {
        for (const id of lost.filter((_, n) => n % 2 === 0)) records.remove(id);
        for (const id of lost.filter((_, n) => n % 4 === 1)) records.put([id], '{"rotten');
        lookups.clear();
      });
      await server.restart();
      assert.is((await cli(server, ['verify'])).code, 1);

      let isRebuilt = false;
      const made: string[] = [];
      const creates = async (): Promise<void> => {
        while (!isRebuilt) {
          made.push(text(await charge(known, 1_000, { externalRef: `new-${made.length}` }), 'id'));
          made.push(text(await transfer(known, 1_007), 'id'));
        }
      };
      const rebuild = cliJson(server, ['rebuild']).finally(() => {
        isRebuilt = true;
      });
      const [report] = await Promise.all([rebuild, creates()]);
      assert.is(at(report, 'ok'), true);
      assert.ok(whole(report, 'entries') >= CHARGES);
      assert.ok(made.length > 0);
      await expectVerified(server);
      for (const [n, id] of lost.entries())
        assert.is(text((await known.get(`/pix-in?externalRef=old-${n}`)).body, 'id'), id);
      assert.is(text((await known.get('/pix-in?externalRef=new-0')).body, 'id'), made[0]);
    });
  });
});

test.run();
