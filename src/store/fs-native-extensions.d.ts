/** Types for the part of the package that is used: it has none of its own. */
declare module 'fs-native-extensions' {
  /** Locks a file for its descriptor, until it is closed; false where others hold it. A shared lock keeps out no other one. */
  export function tryLock(fd: number, options?: { shared?: boolean }): boolean;
}
