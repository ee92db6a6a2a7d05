// The event stream: it reconnects by itself, goes on after the last frame that was processed, and hands over gaps as values.
import type { EventDetail, StreamGap, StreamReady } from '../generated/types.js';
import { ApiError, ConnectionError, DecodingError, RiskDataError } from './api-error.js';
import type { Operation, StreamOptions } from './operation.js';
import { isTemporary } from './retry.js';
import { SseParser } from './sse.js';
import type { SseEvent } from './sse.js';
import { errorOf } from './transport.js';
import type { Transport } from './transport.js';

/** An event became public, was promoted into the feed, or was retracted. `data` is the event as it was then. */
export interface OperationFrame {
  readonly kind: 'published' | 'promoted' | 'retracted';
  /** The cursor after this frame. Identify operations by it: an event may be published more than once. */
  readonly id: string;
  readonly data: EventDetail;
}

/** A connection begins. */
export interface ReadyFrame {
  readonly kind: 'ready';
  readonly id: undefined;
  readonly data: StreamReady;
}

/** Operations that your filter hides have passed; keep the cursor like any other. */
export interface CursorFrame {
  readonly kind: 'cursor';
  readonly id: string;
  readonly data: object;
}

/** The service cannot deliver some operations. `data.reason` tells whether to fetch the state again; the stream goes on by itself. */
export interface GapFrame {
  readonly kind: 'gap';
  readonly id: undefined;
  readonly data: StreamGap;
}

/** The server is about to stop; the stream reconnects by itself. */
export interface DrainingFrame {
  readonly kind: 'draining';
  readonly id: undefined;
  readonly data: { readonly retry: number };
}

/** What a stream hands over. A newer server may send other kinds: ignore them. */
export type StreamFrame = OperationFrame | ReadyFrame | CursorFrame | GapFrame | DrainingFrame;

/** The first wait after a failed connection, at most; it doubles with each failure in a row. */
const FIRST_MS = 1000;
const LONGEST_MS = 60_000;

/**
 * The event stream. Iterate over it; it ends only when you stop, when your signal aborts, or with an error that a retry would not help.
 *
 * The cursor moves when you ask for the next frame, so a frame whose processing fails is delivered again after a resume.
 *
 * @example
 * const stream = client.events.stream();
 * for await (const frame of stream) {
 *   if (frame.kind === 'gap') console.warn('operations were left out:', frame.data.reason);
 *   if (frame.kind === 'published') console.log(frame.data.title);
 *   break;
 * }
 * console.log(stream.cursor);
 */
export class EventStream implements AsyncIterable<StreamFrame> {
  /** Your position: store it, and give it as the option `cursor` to go on after a restart. */
  cursor: string | undefined;
  readonly #transport: Transport;
  readonly #options: StreamOptions;
  readonly #url: string;
  /** Refuses what is no header, such as a cursor with a line break. */
  readonly #headers: Headers;
  /** Milliseconds that the server asked to wait. */
  #asked: number | undefined;
  #failures = 0;

  /** Made by the client. */
  constructor(transport: Transport, operation: Operation, path: object, query: object, options: StreamOptions) {
    const { since, ...rest } = query as { since?: string };
    this.#transport = transport;
    this.#options = options;
    const { url, headers } = transport.target(operation.path, path, rest, options);
    this.#url = url;
    this.#headers = new Headers(headers);
    this.#headers.set('accept', 'text/event-stream');
    if (options.clientIp !== undefined) this.#headers.set('x-service-client-ip', options.clientIp);
    this.cursor = options.cursor ?? since;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamFrame, void, undefined> {
    const { signal, maxRetries = Infinity } = this.#options;
    while (!signal?.aborted) {
      let failure: RiskDataError | undefined;
      try {
        yield* this.#connection();
      } catch (error) {
        if (signal?.aborted) return;
        if (!(error instanceof RiskDataError) || !isPassing(error)) throw error;
        failure = error;
        this.#failures += 1;
        if (this.#failures > maxRetries) throw error;
      }
      await this.#transport.clock.sleep(this.#delay(failure), signal).catch(() => undefined);
    }
  }

  /** The frames of one connection. */
  async *#connection(): AsyncGenerator<StreamFrame, void, undefined> {
    const control = new AbortController();
    const { signal, idleMs = 60_000 } = this.#options;
    const cancel = (): void => control.abort();
    signal?.addEventListener('abort', cancel, { once: true });
    let timer = setTimeout(cancel, idleMs);
    try {
      if (this.cursor !== undefined) this.#headers.set('last-event-id', this.cursor);
      const response = await this.#transport.open(this.#url, { headers: this.#headers, signal: control.signal });
      if (!response.ok) throw errorOf(response, await response.text(), this.#transport.clock.now());
      if (response.body === null) throw new DecodingError('the stream has no body');
      const reader = response.body.getReader();
      const [text, parser] = [new TextDecoder(), new SseParser()];
      for (;;) {
        const { done, value } = await reader.read().catch((cause: unknown) => Promise.reject(new ConnectionError(cause)));
        if (done) return;
        clearTimeout(timer);
        const events = parser.push(text.decode(value, { stream: true }));
        this.#asked = parser.retry ?? this.#asked;
        for (const event of events) yield* this.#take(event);
        timer = setTimeout(cancel, idleMs);
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      control.abort();
    }
  }

  /** Hands over one frame, then moves the cursor. */
  *#take(event: SseEvent): Generator<StreamFrame, void, undefined> {
    const frame = frameOf(event);
    // At least once: after a resume an operation may come again.
    if (frame.id !== undefined && this.cursor !== undefined && !isAfter(frame.id, this.cursor)) return;
    yield frame;
    this.#failures = 0;
    if (frame.id !== undefined) this.cursor = frame.id;
    else if (frame.kind === 'ready') this.cursor ??= frame.data.replay?.cursor;
    else if (frame.kind === 'draining') this.#asked = frame.data.retry;
    // These two go on from the last frame received; every other gap says from where.
    else if (frame.kind === 'gap' && frame.data.reason !== 'queue_overflow' && frame.data.reason !== 'replay_failed') {
      this.cursor = frame.data.cursor ?? this.cursor;
    }
  }

  #delay(failure: RiskDataError | undefined): number {
    const { clock } = this.#transport;
    const asked = failure instanceof ApiError && failure.retryAfter !== null ? failure.retryAfter * 1000 : (this.#asked ?? 0);
    this.#asked = undefined;
    const spread = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, this.#failures - 1));
    return asked + clock.random() * (asked > 0 ? FIRST_MS / 4 : spread);
  }
}

function frameOf(event: SseEvent): StreamFrame {
  try {
    return { kind: event.event, id: event.id, data: JSON.parse(event.data) } as StreamFrame;
  } catch (cause) {
    throw new DecodingError(`the data of a frame "${event.event}" is not JSON`, cause);
  }
}

/** Whether a cursor lies after another. Cursors are 64-bit numbers, which a `number` cannot hold. */
function isAfter(id: string, cursor: string): boolean {
  const [one, other] = [id, cursor].map((it) => /^v2:(\d{1,20})$/.exec(it)?.[1]);
  return one === undefined || other === undefined || BigInt(one) > BigInt(other);
}

function isPassing(error: RiskDataError): boolean {
  if (error instanceof ApiError) return isTemporary(error.status) || error.status === 500;
  return error instanceof ConnectionError;
}
