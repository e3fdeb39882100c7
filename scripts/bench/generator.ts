/**
 * Puts load on a server: by wrk where this machine has it, else by the generator of `load.ts`, which takes more of
 * the cores. One run has one generator: only rates by the same one compare.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { refusedOf } from './line.ts';
import { CLIENTS, OPTIONS } from './options.ts';
import { output, start, startProgram, temporaryFolder } from './processes.ts';
import { type RequestText, SERIES_DIGITS } from './texts.ts';
import { findProgram } from './tools.ts';

export interface Plan {
  port: number;
  /** Sent in turn. */
  requests: readonly RequestText[];
  seconds: number;
  /** Requests a second, whatever is answered (wrk alone can); without it, each client waits for its answer. */
  rate?: number;
}

export interface Shot {
  /** Answers a second, without those of 400 and above. */
  rate: number;
  answered: number;
  seconds: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  worst: number;
  /** Answers of 400 and above. */
  refused: number;
  /** Connections that broke, and requests without an answer. */
  broken: number;
  /** At a steady rate: how many were sent by when. */
  sent: Moment[];
}

/** A count at a moment of the system's monotonic clock, ms. */
export interface Moment {
  at: number;
  count: number;
}

const WRK = findProgram('wrk');
/** What the plain generator can't do is left out, and said. */
export const CAN_PACE = WRK !== null;
export const GENERATOR = WRK === null ? 'the generator of scripts/bench/load.ts' : 'wrk';

let shots = 0;
let folder: string | null = null;

/** Where plans are written. */
function planFile(name: string): string {
  folder ??= temporaryFolder();
  return join(folder, name);
}

/** What the numbers of a shot begin with. */
function nextSeries(): string {
  shots += 1;
  return `${OPTIONS.seed % 1e4}`.padStart(4, '0') + `${shots}`.padStart(SERIES_DIGITS - 4, '0');
}

/** A text of ASCII as Lua reads it. */
function luaText(text: string): string {
  return `"${text.replace(/[\\"\r\n]/g, (char) => `\\${`${char.charCodeAt(0)}`.padStart(3, '0')}`)}"`;
}

function planText({ requests, rate = 0 }: Plan, series: string): string {
  const texts = requests.map((parts) => `{${parts.map((part) => luaText(part ?? '')).join(',')}}`);
  return `return {rate=${rate},series="${series}",requests={\n${texts.join(',\n')}\n}}\n`;
}

async function byWrk(program: string, plan: Plan): Promise<Shot> {
  const file = planFile('plan.lua');
  writeFileSync(file, planText(plan, nextSeries()));
  const options = ['-t1', `-c${CLIENTS}`, `-d${plan.seconds}s`, '--timeout', '30s'];
  const url = `http://127.0.0.1:${plan.port}/`;
  const text = await output(
    startProgram(program, [...options, '-s', 'scripts/bench/requests.lua', url, '--', file]),
  );
  const [, json] = /^bench (\{.*\})$/m.exec(text) ?? [];
  if (json === undefined) throw new Error(`wrk failed: ${text}`);
  const told: Omit<Shot, 'rate' | 'sent'> = JSON.parse(json);
  const sent = [...text.matchAll(/^sent (\d+) (\d+)$/gm)].map(([, at, count]) => ({
    at: Number(at),
    count: Number(count),
  }));
  return { ...told, sent, rate: (told.answered - told.refused) / told.seconds };
}

async function byLoad({ port, requests, seconds }: Plan): Promise<Shot> {
  const file = planFile('order.json');
  writeFileSync(
    file,
    JSON.stringify({ port, clients: CLIENTS, seconds, series: nextSeries(), texts: requests }),
  );
  const text = await output(start(['--import', 'tsx', 'scripts/bench/load.ts', '--for', file]));
  if (text === '') throw new Error('the load generator failed');
  const { rate, p50, p99, worst, statuses, ...told } = JSON.parse(text) as {
    rate: number;
    seconds: number;
    p50: number;
    p99: number;
    worst: number;
    statuses: Record<string, number>;
  };
  const refused = refusedOf(statuses);
  const answered = Object.values(statuses).reduce((total, count) => total + count, 0);
  return { rate, answered, seconds: told.seconds, p50, p99, worst, refused, broken: 0, sent: [] };
}

/** Sends what the plan says. @throws where the generator fails */
export function generate(plan: Plan): Promise<Shot> {
  return WRK === null ? byLoad(plan) : byWrk(WRK, plan);
}
