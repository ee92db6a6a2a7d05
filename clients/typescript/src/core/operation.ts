// What the generated methods give the core, and the options of a request.
import type { Pages } from './pages.js';
import type { EventStream } from './stream.js';

/** An operation of the API as the core needs it: made by the generator. */
export interface Operation {
  readonly id: string;
  readonly verb: string;
  readonly path: string;
  /** Whether a request may be sent again after its answer was lost. */
  readonly repeat: 'safe' | 'with-key' | 'unsafe';
  readonly hasEtag?: boolean;
  readonly paging?: Paging;
}

/** How the next page is asked for, and where the rows are. */
export type Paging = { readonly rows: readonly string[] } & (
  | { readonly style: 'number'; readonly page: string; readonly size: string; readonly most?: number }
  | { readonly style: 'offset'; readonly offset: string; readonly total: readonly string[] }
  | { readonly style: 'cursor'; readonly since: string; readonly cursor: readonly string[] }
);

/** Options that requests and streams share. */
export interface CommonOptions {
  /** Refuse unknown parameters and filter values instead of ignoring them. Default: that of the client. */
  readonly strict?: boolean | undefined;
  /** With a shared key: your client that makes this request. Default: that of the client. */
  readonly subclient?: string | undefined;
  /** More headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Options of one request.
 *
 * @example
 * const cancel = new AbortController();
 * const options: RequestOptions = { signal: cancel.signal, timeoutMs: 5000, maxRetries: 1 };
 * console.log((await client.service.status(options)).status);
 */
export interface RequestOptions extends CommonOptions {
  /** Cancels the request, its retries, and the waiting between them. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one try, including its body. Default: that of the client. */
  readonly timeoutMs?: number | undefined;
  /** How often the request is sent again at most. Default: that of the client. */
  readonly maxRetries?: number | undefined;
  /** The `Idempotency-Key` of a creation, the same on every try. Default: a random one for this call. */
  readonly idempotencyKey?: string | undefined;
  /** Your word that the request may be sent twice. Reads and requests with an idempotency key need none. */
  readonly repeat?: boolean | undefined;
}

/**
 * Options of a stream.
 *
 * @example
 * const options: StreamOptions = { cursor: 'v2:42' };
 * for await (const frame of client.events.stream({}, options)) {
 *   console.log(frame.kind);
 *   break;
 * }
 */
export interface StreamOptions extends CommonOptions {
  /** Ends the stream; the iteration ends without an error. */
  readonly signal?: AbortSignal | undefined;
  /** The cursor after which to begin: the `id` of the last frame that you processed. Default: new events. */
  readonly cursor?: string | undefined;
  /** How many connections may fail in a row. Default: no bound. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds without a byte after which the connection counts as broken. The service sends one every 20 seconds. Default: 60,000. */
  readonly idleMs?: number | undefined;
  /** For relays: the IP address of the end viewer, whose streams are counted. */
  readonly clientIp?: string | undefined;
}

/** A value by parameter name. The generated types state what is accepted. */
export type Values = object;

/** What the generated methods call. */
export interface Caller {
  call<Answer>(operation: Operation, path: Values, query: Values, options: RequestOptions, body?: unknown): Promise<Answer>;
  pages<Row, Answer>(operation: Operation, path: Values, query: Values, options: RequestOptions): Pages<Row, Answer>;
  stream(operation: Operation, path: Values, query: Values, options: StreamOptions): EventStream;
}

/** The member of a body at a path. */
export function at(body: unknown, path: readonly string[]): unknown {
  let value = body;
  for (const name of path) value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return value;
}
