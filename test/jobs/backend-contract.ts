import type { AgendaBackend } from 'agenda';
import { repositoryContract } from './backend-contract-repository.ts';
import { runningContract } from './backend-contract-running.ts';

/** A backend without jobs, and how to get rid of it. */
export interface OpenBackend {
  backend: AgendaBackend;
  close(): Promise<void>;
}

/**
 * What every Agenda backend must do: its repository by itself, then Agenda on top of it.
 *
 * `open` is called for each test and gives a backend without jobs. It may or may not be connected yet;
 * it must not own its connection (`ownsConnection: false`), since several Agenda instances share it.
 */
export function agendaBackendContract(name: string, open: () => Promise<OpenBackend>): void {
  repositoryContract(name, open);
  runningContract(name, open);
}
