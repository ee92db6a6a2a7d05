// One request: its URL and headers, its tries, its answer or error.
import { errorClasses } from '../generated/errors.js';
import type { ErrorDetail } from '../generated/types.js';
import { ApiError, CancelledError, ConnectionError, DecodingError, RiskDataError, TimeoutError } from './api-error.js';
import { EtagCache } from './etags.js';
import { rateLimitOf, remember } from './info.js';
import type { RateLimit } from './info.js';
import type { CommonOptions, Operation, RequestOptions } from './operation.js';
import { delayOf, isTemporary, retryAfterOf, systemClock } from './retry.js';
import type { Clock } from './retry.js';

/** Options of a client. */
export interface ClientOptions {
  /** The address of the service, without `/v1`. */
  readonly baseUrl: string;
  /** An API key (`pk_live_…`) or an index token. Without one, public reads work with low limits. */
  readonly apiKey?: string | undefined;
  /** How often a request is sent again at most. Default: 3. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds for one try, including its body. Default: 75,000, because the service itself gives up after 60 seconds. */
  readonly timeoutMs?: number | undefined;
  /** The longest `Retry-After` in seconds that is waited for; a longer one is an error at once. Default: 60. */
  readonly maxRetryAfter?: number | undefined;
  /** Answers kept with their ETags. 0 keeps none. Default: 100. */
  readonly etagEntries?: number | undefined;
  /** Refuse unknown parameters and filter values instead of ignoring them. Default: false. */
  readonly strict?: boolean | undefined;
  /** With a shared key: your client that makes the requests. */
  readonly subclient?: string | undefined;
  /** More headers for every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Used instead of the system's time and chance, for tests. */
  readonly clock?: Clock | undefined;
}

/** What a try needs. */
interface Prepared {
  readonly url: string;
  readonly init: RequestInit & { headers: Record<string, string> };
  readonly mayRepeat: boolean;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly etagKey: string | undefined;
}

/** Sends requests. */
export class Transport {
  readonly options: ClientOptions;
  readonly clock: Clock;
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #etags: EtagCache;
  /** Headers that every request has. */
  readonly #headers: Readonly<Record<string, string>>;
  /** The last headers that reported a rate limit. */
  #limited: Headers | undefined;

  constructor(options: ClientOptions) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.#base = options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
    if (!/^https?:\/\//.test(this.#base)) throw new TypeError(`baseUrl must begin with https:// or http://: ${options.baseUrl}`);
    // Called as a function of the global object, as browsers demand.
    this.#fetch = options.fetch ?? ((...given) => globalThis.fetch(...given));
    this.#etags = new EtagCache(options.etagEntries ?? 100);
    const { apiKey, subclient } = options;
    this.#headers = {
      ...checked({ ...options.headers }),
      ...checked({ authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}`, 'x-service-subclient': subclient }),
    };
  }

  /** The rate limit that the last answer reported. */
  get rateLimit(): RateLimit | null {
    return this.#limited === undefined ? null : rateLimitOf(this.#limited);
  }

  /** Sends a request, with retries, and reads its JSON. */
  async send(operation: Operation, path: object, query: object, options: RequestOptions, body?: unknown): Promise<unknown> {
    const prepared = this.#prepare(operation, path, query, options, body);
    for (let tries = 1; ; tries += 1) {
      const failure = await this.#try(prepared, tries);
      if (!(failure instanceof RiskDataError)) return failure.answer;
      const delay = this.#delay(prepared, failure, tries);
      if (delay === undefined) throw failure;
      try {
        await this.clock.sleep(delay, prepared.signal);
      } catch (cause) {
        throw new CancelledError(cause);
      }
    }
  }

  /** The address and the headers of a request. */
  target(path: string, names: object, query: object, options: CommonOptions): { url: string; headers: Record<string, string> } {
    const values = names as Record<string, unknown>;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(values[name], name));
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) search.append(name, Array.isArray(value) ? value.join(',') : String(value));
    }
    if (options.strict ?? this.options.strict) search.append('strict', 'true');
    const headers: Record<string, string> = { ...this.#headers };
    if (options.subclient !== undefined || options.headers !== undefined) {
      Object.assign(headers, checked({ 'x-service-subclient': options.subclient }), checked({ ...options.headers }));
    }
    const text = search.toString();
    return { url: `${this.#base}${filled}${text === '' ? '' : `?${text}`}`, headers };
  }

  /** One fetch. Its failure is a `ConnectionError`. */
  async open(url: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(url, init);
    } catch (cause) {
      throw new ConnectionError(cause);
    }
  }

  #prepare(operation: Operation, path: object, query: object, options: RequestOptions, body: unknown): Prepared {
    const { url, headers } = this.target(operation.path, path, query, options);
    headers['accept'] = 'application/json';
    const init: RequestInit & { headers: Record<string, string> } = { method: operation.verb, headers };
    if (body !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(body);
    }
    // One key for the whole call, so that the service sees that a later try is the same request.
    if (operation.repeat === 'with-key') Object.assign(headers, checked({ 'idempotency-key': options.idempotencyKey ?? globalThis.crypto.randomUUID() }));
    return {
      url,
      init,
      mayRepeat: operation.repeat !== 'unsafe' || options.repeat === true,
      maxRetries: options.maxRetries ?? this.options.maxRetries ?? 3,
      timeoutMs: options.timeoutMs ?? this.options.timeoutMs ?? 75_000,
      signal: options.signal,
      etagKey: operation.hasEtag ? `${url} ${headers['x-service-subclient'] ?? ''} ${headers['authorization'] ?? ''}` : undefined,
    };
  }

  async #try(prepared: Prepared, tries: number): Promise<{ answer: unknown } | RiskDataError> {
    const { url, init, signal, timeoutMs, etagKey } = prepared;
    if (signal?.aborted) return new CancelledError(signal.reason);
    const kept = etagKey === undefined ? undefined : this.#etags.get(etagKey);
    if (kept !== undefined) init.headers['if-none-match'] = kept.tag;
    const control = new AbortController();
    const cancel = (): void => control.abort(signal?.reason);
    signal?.addEventListener('abort', cancel, { once: true });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      control.abort();
    }, timeoutMs);
    try {
      const response = await this.open(url, { ...init, signal: control.signal });
      if (response.headers.has('x-ratelimit-reset')) this.#limited = response.headers;
      const text = await response.text();
      if (response.status === 304 && kept !== undefined) return decoded(kept.text, response, true, tries);
      if (!response.ok) return errorOf(response, text, this.clock.now());
      const tag = response.headers.get('etag');
      const answer = decoded(text, response, false, tries);
      if (etagKey !== undefined && tag !== null && !(answer instanceof RiskDataError)) this.#etags.set(etagKey, { tag, text });
      return answer;
    } catch (cause) {
      if (signal?.aborted) return new CancelledError(cause);
      if (timedOut) return new TimeoutError(timeoutMs);
      return cause instanceof RiskDataError ? cause : new ConnectionError(cause);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Milliseconds until the next try; undefined if there is none. */
  #delay(prepared: Prepared, failure: RiskDataError, tries: number): number | undefined {
    if (tries > prepared.maxRetries) return undefined;
    if (failure instanceof ApiError) {
      // A request that was refused for its number was not carried out, so it may be sent again whatever it does.
      const mayRepeat = prepared.mayRepeat || failure.status === 429;
      if (!mayRepeat || !isTemporary(failure.status)) return undefined;
      if ((failure.retryAfter ?? 0) > (this.options.maxRetryAfter ?? 60)) return undefined;
      return delayOf(tries, failure.retryAfter, this.clock);
    }
    const isBroken = failure instanceof ConnectionError || failure instanceof TimeoutError;
    return isBroken && prepared.mayRepeat ? delayOf(tries, null, this.clock) : undefined;
  }
}

/** The error that an answer is. */
export function errorOf(response: Response, text: string, now: number): ApiError {
  const error = errorMember(text);
  const string = (name: string): string | null => (typeof error[name] === 'string' ? (error[name] as string) : null);
  const code = string('code') ?? `HTTP_${response.status}`;
  const details = Array.isArray(error['details']) ? (error['details'] as ErrorDetail[]) : [];
  const Class = Object.hasOwn(errorClasses, code) ? errorClasses[code] : undefined;
  return new (Class ?? ApiError)({
    status: response.status,
    code,
    message: string('message') ?? `the answer has status ${response.status}`,
    requestId: string('request_id') ?? response.headers.get('x-request-id'),
    details,
    detailCount: typeof error['detail_count'] === 'number' ? error['detail_count'] : details.length,
    retryAfter: retryAfterOf(response.headers, now),
    legacyCode: string('legacy_code'),
    successor: string('successor'),
    headers: response.headers,
  });
}

/** The member `error` of an error's body; empty if the body is something else, such as a proxy's page. */
function errorMember(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text);
    const error = typeof body === 'object' && body !== null ? (body as { error?: unknown }).error : undefined;
    return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function decoded(text: string, response: Response, isKept: boolean, tries: number): { answer: unknown } | DecodingError {
  try {
    const answer: unknown = JSON.parse(text);
    remember(answer, { status: response.status, headers: response.headers, fromEtagCache: isKept, tries });
    return { answer };
  } catch (cause) {
    return new DecodingError('the answer is not JSON', cause);
  }
}

/** Headers by their names in lower case. Throws a `TypeError` for what HTTP does not allow. `fetch` copies a plain object faster than `Headers`. */
function checked(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) if (value !== undefined) headers.set(name, value);
  return Object.fromEntries(headers);
}

function encoded(value: unknown, name: string): string {
  // An empty part would make another path of it.
  if (value === undefined || value === null || value === '') throw new TypeError(`${name} must not be empty`);
  const text = encodeURIComponent(String(value));
  if (text === '.' || text === '..') throw new TypeError(`${name} must not be ${text}`);
  return text;
}
