/** All connections of a server, from before any handshake or request on: its own list begins behind these. */
import type { Server, Socket } from 'node:net';

export class Connections {
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Those that are open. */
  get sockets(): Socket[] {
    return [...this.#sockets];
  }

  /** Those on which something that was written has yet to leave. */
  get sending(): Socket[] {
    return this.sockets.filter(({ writableLength }) => writableLength > 0);
  }

  /** Ends them all at once, whatever is under way. */
  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
