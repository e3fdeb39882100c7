/** The commands of an account that aren't decided yet, in order: bounded, and rid of those that nobody waits for. */
import { Abandoned, Overloaded, type Ticket } from './host.ts';

export const MAILBOX_SIZE = 8192;
const BATCH_COMMANDS = 512;
/** What is about to be decided together: what has room in a batch in the end is told by its text. */
const BATCH_WEIGHT = 2 * 1024 * 1024;

export class Mailbox {
  #tickets: Ticket[] = [];

  get size(): number {
    return this.#tickets.length;
  }

  /** A full one rejects it at once; whether it took it. */
  post(ticket: Ticket): boolean {
    if (this.#tickets.length >= MAILBOX_SIZE) {
      ticket.reject(new Overloaded('the mailbox of the account is full'));
      return false;
    }
    this.#tickets.push(ticket);
    return true;
  }

  /** Takes those that are decided next. */
  next(): Ticket[] {
    const tickets: Ticket[] = [];
    let weight = 0;
    let taken = 0;
    for (const ticket of this.#tickets) {
      if (tickets.length >= BATCH_COMMANDS || (tickets.length > 0 && weight + ticket.weight > BATCH_WEIGHT))
        break;
      taken += 1;
      if (ticket.abandoned()) {
        ticket.reject(new Abandoned());
        continue;
      }
      weight += ticket.weight;
      tickets.push(ticket);
    }
    this.#tickets = taken === this.#tickets.length ? [] : this.#tickets.slice(taken);
    return tickets;
  }

  /** Takes back what was taken last and wasn't decided: it comes first again, however full it is. */
  putBack(tickets: readonly Ticket[]): void {
    if (tickets.length > 0) this.#tickets = [...tickets, ...this.#tickets];
  }

  /** Rejects all. */
  fail(error: Error): void {
    for (const ticket of this.#tickets.splice(0)) ticket.reject(error);
  }
}
