// What the headers of an answer tell: request id, rate limit, cache.

/** The state of the rate limit that a request counted against. */
export interface RateLimit {
  /** Requests per window. */
  readonly limit: number;
  /** Requests left in the window. */
  readonly remaining: number;
  /** When the window ends and the full limit is available again. */
  readonly reset: Date;
}

/** What the headers of an answer tell. */
export interface ResponseInfo {
  /** The HTTP status; 200 if the content came from the ETag cache. */
  readonly status: number;
  /** Identifies the request in the service's logs. */
  readonly requestId: string | null;
  /** The rate limit that leaves you the fewest requests; null if the answer does not say. */
  readonly rateLimit: RateLimit | null;
  /** On shared keys: the limit of the client that made the request. */
  readonly subclientLimit: { readonly limit: number; readonly remaining: number } | null;
  /** The data version that the answer was computed from. */
  readonly dataVersion: number | null;
  /** `HIT`, `MISS`, `BYPASS` or `STALE-ERROR`. */
  readonly cache: string | null;
  /** Whether this is an older answer because a fresh read failed. */
  readonly isStale: boolean;
  /** Seconds since a cached answer was last confirmed. */
  readonly age: number | null;
  /** The fail-safe mode of the platform, if it is not `normal`. */
  readonly failSafeMode: string | null;
  /** Parameters that the service does not know and ignored. */
  readonly ignoredParameters: readonly string[];
  /** Unknown chains, protocols and curators in filters, as `parameter=value`. */
  readonly unknownValues: readonly string[];
  /** Whether the service confirmed with 304 what the client had kept. */
  readonly fromEtagCache: boolean;
  /** How often the request was sent. */
  readonly tries: number;
  /** All headers. */
  readonly headers: Headers;
}

/** What is kept of an answer until somebody asks: few do, and reading all headers takes time. */
export interface Arrived {
  readonly status: number;
  readonly headers: Headers;
  readonly fromEtagCache: boolean;
  readonly tries: number;
}

const known = new WeakMap<object, { arrived: Arrived; info?: ResponseInfo }>();

/**
 * What the headers of an answer told; undefined for objects that are not answers of this library.
 *
 * @example
 * const answer = await client.vaults.list({ limit: 1 });
 * console.log(infoOf(answer)?.requestId, infoOf(answer)?.rateLimit?.remaining);
 */
export function infoOf(answer: object): ResponseInfo | undefined {
  const found = known.get(answer);
  if (found !== undefined) found.info ??= readInfo(found.arrived);
  return found?.info;
}

/** Remembers how an answer arrived. */
export function remember(answer: unknown, arrived: Arrived): void {
  if (typeof answer === 'object' && answer !== null) known.set(answer, { arrived });
}

function readInfo({ status, headers, fromEtagCache, tries }: Arrived): ResponseInfo {
  const cache = headers.get('x-cache');
  const subclient = [numberOf(headers, 'x-ratelimit-subclient-limit'), numberOf(headers, 'x-ratelimit-subclient-remaining')] as const;
  return {
    status: fromEtagCache ? 200 : status,
    requestId: headers.get('x-request-id'),
    rateLimit: rateLimitOf(headers),
    subclientLimit: subclient[0] === null || subclient[1] === null ? null : { limit: subclient[0], remaining: subclient[1] },
    dataVersion: numberOf(headers, 'x-data-version'),
    cache,
    isStale: cache === 'STALE-ERROR',
    age: numberOf(headers, 'age'),
    failSafeMode: headers.get('x-service-failsafe-mode'),
    ignoredParameters: listOf(headers, 'x-service-ignored-parameters'),
    unknownValues: listOf(headers, 'x-service-unknown-values'),
    fromEtagCache,
    tries,
    headers,
  };
}

/** The rate limit that the headers report. */
export function rateLimitOf(headers: Headers): RateLimit | null {
  const limit = numberOf(headers, 'x-ratelimit-limit');
  const remaining = numberOf(headers, 'x-ratelimit-remaining');
  const reset = numberOf(headers, 'x-ratelimit-reset');
  return limit === null || remaining === null || reset === null ? null : { limit, remaining, reset: new Date(reset * 1000) };
}

function numberOf(headers: Headers, name: string): number | null {
  const text = headers.get(name);
  const value = text === null || text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

/** Percent-encoded names, separated by commas. */
function listOf(headers: Headers, name: string): string[] {
  const parts = (headers.get(name) ?? '').split(',').map((it) => it.trim());
  return parts.filter((it) => it !== '').map(decoded);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
