/** The id of something that is to be done once, however often it is asked for. */
export function newId(): string {
  return crypto.randomUUID();
}
