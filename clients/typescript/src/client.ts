// The client: every resource of the API over one transport.
import type { RateLimit } from './core/info.js';
import type { Caller } from './core/operation.js';
import { Pages } from './core/pages.js';
import { EventStream } from './core/stream.js';
import { Transport } from './core/transport.js';
import type { ClientOptions } from './core/transport.js';
import { Resources } from './generated/resources.js';

/**
 * A client of the Risk Data Service.
 *
 * @example
 * const desk = new Client({ baseUrl: 'https://rds.example', apiKey: 'pk_live_0123456789abcdef0123456789abcdef' });
 * console.log(desk.rateLimit?.remaining);
 */
export class Client extends Resources {
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    super(callerOf(transport));
    this.#transport = transport;
  }

  /** The rate limit that the last answer reported; null before the first. */
  get rateLimit(): RateLimit | null {
    return this.#transport.rateLimit;
  }
}

function callerOf(transport: Transport): Caller {
  return {
    call: <Answer>(...given: Parameters<Transport['send']>) => transport.send(...given) as Promise<Answer>,
    pages: (operation, path, query, options) =>
      new Pages(operation, query, (page) => transport.send(operation, path, page, options) as Promise<never>),
    stream: (operation, path, query, options) => new EventStream(transport, operation, path, query, options),
  };
}
