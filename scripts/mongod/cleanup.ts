/**
 * What must be undone however this process ends, except by SIGKILL: at `exit`, and at a signal that nobody else
 * listens to, which then ends the process as it would have done.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const duties = new Set<() => void>();

function perform(): void {
  for (const duty of duties) duty();
  duties.clear();
}

function onSignal(signal: NodeJS.Signals): void {
  // Somebody else's listener decides; this process's end runs the duties.
  if (process.listenerCount(signal) > 1) return;
  perform();
  process.removeListener(signal, onSignal);
  process.kill(process.pid, signal);
}

function listen(): void {
  process.on('exit', perform);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

function unlisten(): void {
  process.removeListener('exit', perform);
  for (const signal of SIGNALS) process.removeListener(signal, onSignal);
}

/** Runs `duty`, which must be synchronous, at the end of this process, unless the returned function is called before. */
export function atEnd(duty: () => void): () => void {
  if (duties.size === 0) listen();
  duties.add(duty);
  return () => {
    if (duties.delete(duty) && duties.size === 0) unlisten();
  };
}
