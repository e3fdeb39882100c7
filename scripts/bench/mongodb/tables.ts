/** What rows look like: one table of rates, one of CPU, one of commands, one of what is stored. */

import type { Cpu, MongodbCosts, Row } from '../row.ts';
import { printTable } from '../table.ts';
import type { Uses } from './meter.ts';

/** A row of a table, and what its rate is set against. */
export interface Shown {
  row: Row;
  ratio: string;
}

/** What a phase found. */
export interface Findings {
  rows: Shown[];
  /** Sentences: what was wanted and what came out. */
  sentences: string[];
}

const SMALL_US = 1.5;

/** Answers that are not 201, by status. */
export function otherAnswers({ result }: Row): string {
  const others = Object.entries(result?.statuses ?? {}).filter(([status]) => status !== '201');
  return others.map(([status, count]) => `${count} x ${status}`).join(', ');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

export function printRates(rows: readonly Shown[]): void {
  console.log('\nRates. Busy: the cores, with all that ran; foreign: with what is not of this run.');
  const names = [
    'variant',
    'rate/s',
    'p50 ms',
    'p99 ms',
    'worst ms',
    'ratio',
    'busy',
    'foreign',
    'other answers',
  ];
  const lines = rows.map(({ row, ratio }) => {
    const { name, rate, result, busy, foreign, note } = row;
    const times =
      result === null ? ['', '', ''] : [result.p50, result.p99, result.worst].map((ms) => ms.toFixed(1));
    const said = [otherAnswers(row), note].filter((text) => text !== '').join('; ');
    return [
      name,
      result === null ? '' : rate.toFixed(0),
      ...times,
      ratio,
      percent(busy),
      percent(foreign),
      said,
    ];
  });
  printTable([names, ...lines]);
}

/** Microseconds a request, the threads that use the most first. */
function threadsText(cpu: Cpu, requests: number): string {
  const threads = Object.entries(cpu.threads)
    .map(([name, seconds]) => ({ name, us: (seconds * 1e6) / requests }))
    .filter(({ us }) => us >= SMALL_US)
    .sort((a, b) => b.us - a.us);
  const rest = (cpu.all * 1e6) / requests - threads.reduce((sum, { us }) => sum + us, 0);
  const texts = threads.map(({ name, us }) => `${name} ${us.toFixed(0)}`);
  return [...texts, ...(rest >= SMALL_US ? [`others ${rest.toFixed(0)}`] : [])].join(', ');
}

export function printCpu(rows: readonly Shown[]): void {
  console.log('\nCPU microseconds a request (idle: a second).');
  const names = ['variant', 'server', 'mongod', 'load generator', 'server by thread', 'mongod by thread'];
  const us = (seconds: number, requests: number): string => ((seconds * 1e6) / requests).toFixed(0);
  const lines = rows.map(({ row: { name, requests, server, mongod, result } }) => [
    name,
    us(server.all, requests),
    mongod === null ? '' : us(mongod.all, requests),
    result === null ? '' : us(result.cpu, requests),
    threadsText(server, requests),
    mongod === null ? '' : threadsText(mongod, requests),
  ]);
  printTable([names, ...lines]);
}

/** Groups of a row: each is one insert into `journal`, of the batches that wait together. */
export function groupsOf({ counted }: MongodbCosts): number {
  return counted.byCollection.journal?.insert ?? 0;
}

/** What each collection saw, for each of `units`; what is next to nothing is left out. */
function usesText(byCollection: Record<string, Uses>, units: number): string {
  const texts = Object.entries(byCollection).flatMap(([collection, uses]) => {
    const parts = Object.entries(uses)
      .filter(([, count]) => count / units >= 0.01)
      .map(([use, count]) => `${use} ${(count / units).toFixed(2)}`);
    return parts.length === 0 ? [] : [`${collection}: ${parts.join(' ')}`];
  });
  return texts.join('; ');
}

function commandLine({ name, requests }: Row, costs: MongodbCosts): string[] {
  const { commands, updateStatements, documents, byCollection, flushes, flushSeconds } = costs.counted;
  const { find, insert, update, ...others } = commands;
  const other = Object.values(others).reduce((sum, count) => sum + count, 0);
  const each = (count: number): string => (count / requests).toFixed(3);
  const groups = groupsOf(costs);
  const aGroup = (count: number, digits = 2): string =>
    groups === 0 ? '' : (count / groups).toFixed(digits);
  return [
    name,
    ...[find, insert, update, other, updateStatements].map(each),
    ...[documents.inserted, documents.updated, documents.returned].map(each),
    aGroup(costs.stored.journal?.documents ?? 0, 1),
    aGroup(find + others.getMore),
    aGroup(insert + update + others.delete + others.findAndModify),
    aGroup(flushes),
    flushes === 0 ? '' : ((flushSeconds * 1000) / flushes).toFixed(2),
    usesText(byCollection, groups === 0 ? requests : groups),
  ];
}

/** Commands, and what they did, for each request; and for each group of batches. */
export function printCommands(rows: readonly Shown[]): void {
  console.log(
    '\nCommands and documents a request (idle: a second), and a group: the batches that one insert into `journal` takes. Flushes are of the journal of mongod itself.',
  );
  const commands = ['find', 'insert', 'update', 'others', 'update statements', 'inserted', 'updated', 'read'];
  const groups = ['batches a group', 'finds', 'writes', 'flushes', 'ms a flush', 'a group, by collection'];
  const lines = rows.flatMap(({ row }) => (row.mongodb === null ? [] : [commandLine(row, row.mongodb)]));
  printTable([['variant', ...commands, ...groups], ...lines]);
}

export function printStored(rows: readonly Shown[]): void {
  console.log('\nStored a request: documents, index entries, bytes of documents before compression.');
  const lines = rows.flatMap(({ row: { name, requests, mongodb } }) => {
    if (mongodb === null) return [];
    const each = (count: number, digits: number): string => (count / requests).toFixed(digits);
    const all = Object.entries(mongodb.stored).filter(
      ([, { documents, bytes }]) => documents !== 0 || bytes !== 0,
    );
    const sum = (part: 'documents' | 'indexEntries' | 'bytes'): number =>
      all.reduce((total, [, stored]) => total + stored[part], 0);
    const texts = all
      .filter(([, { documents, bytes }]) => documents / requests >= 0.001 || bytes / requests >= 1)
      .map(
        ([collection, { documents, indexEntries, bytes }]) =>
          `${collection} ${each(documents, 2)} / ${each(indexEntries, 2)} / ${each(bytes, 0)} B`,
      );
    return [
      [
        name,
        each(sum('documents'), 2),
        each(sum('indexEntries'), 2),
        each(sum('bytes'), 0),
        each(mongodb.oplogEntries, 2),
        texts.join(', '),
      ],
    ];
  });
  printTable([
    ['variant', 'documents', 'index entries', 'bytes', 'oplog entries', 'by collection'],
    ...lines,
  ]);
}
