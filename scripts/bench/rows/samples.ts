/** Transactions that are read in turn, and the requests that read them. */
import { setTimeout as delay } from 'node:timers/promises';
import { ENDS_WELL, type Kind, type RequestText, read, WAITS } from '../texts.ts';

/** Of each account. */
const EACH = 4;
/** A transfer has its reference once the bank has started it. */
const AMOUNTS = { 'pix-in': WAITS['pix-in'], cashout: ENDS_WELL } as const;
const LOOKS = 100;
const LOOK_MS = 100;

interface Sample {
  id: string;
  externalRef: string | null;
  reference: string | null;
}

function authorization(credentials: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

async function sampleOf(answer: Response, status: number): Promise<Sample> {
  if (answer.status !== status)
    throw new Error(`a sample was answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Sample;
}

async function create(port: number, kind: Kind, credentials: string, n: number): Promise<Sample> {
  const own = { amount: AMOUNTS[kind], externalRef: `sample-${kind}-${n}` };
  const pix = { pixKeyType: 'EMAIL', pixKey: 'maria@example.com' };
  const answer = await fetch(`http://127.0.0.1:${port}/v1/${kind}`, {
    method: 'POST',
    headers: { ...authorization(credentials), 'content-type': 'application/json' },
    body: JSON.stringify(kind === 'pix-in' ? own : { ...own, pix }),
  });
  return sampleOf(answer, 201);
}

/** A transfer once it has its reference. */
async function started(port: number, credentials: string, id: string): Promise<Sample> {
  for (let look = 0; look < LOOKS; look++) {
    const url = `http://127.0.0.1:${port}/v1/cashout?id=${id}`;
    const sample = await sampleOf(await fetch(url, { headers: authorization(credentials) }), 200);
    if (sample.reference !== null) return sample;
    await delay(LOOK_MS);
  }
  throw new Error(`the transfer ${id} has not started`);
}

async function createAll(
  port: number,
  kind: Kind,
  credentials: readonly string[],
): Promise<[string, Sample][]> {
  const all: [string, Sample][] = [];
  for (let round = 0; round < EACH; round++) {
    const made = credentials.map(async (each, index): Promise<[string, Sample]> => {
      const sample = await create(port, kind, each, round * credentials.length + index);
      return [each, kind === 'cashout' ? await started(port, each, sample.id) : sample];
    });
    all.push(...(await Promise.all(made)));
  }
  return all;
}

/** Requests by what they ask for. */
export async function samples(
  port: number,
  credentials: readonly string[],
): Promise<Record<string, RequestText[]>> {
  const charges = await createAll(port, 'pix-in', credentials);
  const transfers = await createAll(port, 'cashout', credentials);
  const text = (value: string | null): string => encodeURIComponent(value ?? '');
  return {
    '/pix-in by id': charges.map(([own, { id }]) => read(`/v1/pix-in?id=${id}`, own)),
    '/pix-in by externalRef': charges.map(([own, { externalRef }]) =>
      read(`/v1/pix-in?externalRef=${text(externalRef)}`, own),
    ),
    '/cashout by reference': transfers.map(([own, { reference }]) =>
      read(`/v1/cashout?reference=${text(reference)}`, own),
    ),
    '/balance': credentials.map((own) => read('/v1/balance', own)),
  };
}
