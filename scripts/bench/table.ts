/** Prints rows in columns, the first row being their names. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows.reduce(
    (all, row) => row.map((cell, i) => Math.max(all[i] ?? 0, cell.length)),
    [] as number[],
  );
  for (const row of rows) console.log(row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
}
