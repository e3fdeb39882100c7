/** What is used of the package, which has no types of its own. */
declare module 'fs-native-extensions' {
  /** Locks bytes of an open file for its descriptor, until they are unlocked or it is closed; false where others hold them. */
  export function tryLock(
    fd: number,
    offset: number,
    length: number,
    options?: { shared?: boolean },
  ): boolean;
  export function unlock(fd: number, offset: number, length: number): void;
}
