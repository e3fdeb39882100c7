/** How old V8 makes what it allocates. */
import { setFlagsFromString } from 'node:v8';

/**
 * Has V8 make all objects young, in all threads that begin from now on. It would make those old from the start whose place
 * in the code has made such as survived a few collections. While the young generation is still small, in the first second
 * under load, nearly all of a request in flight survives. What is old and dead keeps all that it points to until the old
 * space is collected: half of what is in flight, several times a second, for as long as the process lives.
 */
export function withoutPretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
