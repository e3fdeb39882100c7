/** A call of what it is given, once for all who ask for it in one turn of the event loop, at the turn's end. */
export function onceATurn(work: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    setImmediate(() => {
      asked = false;
      work();
    });
  };
}
