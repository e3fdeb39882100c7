/** Who runs this process, as the system knows them. */
import { userInfo } from 'node:os';

/** A container may have no name for its user. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 0}`;
  }
}
