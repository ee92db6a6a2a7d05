// Requests to the public API: at the edge by the Worker itself, in the browser by fetch.

/** Parameters of a query; lists are joined by commas, and undefined ones are left out. */
export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** What the API refused, or why it could not be asked. */
export interface Failure {
  /** HTTP status; 0 without an answer. */
  status: number;
  /** `RATE_LIMITED`, `NOT_FOUND` …, as in the API's error envelope. */
  code: string;
  message: string;
  requestId: string | null;
  /** Seconds until another try may succeed. */
  retryAfter: number | null;
}

/** A page of a list. */
export interface PageMeta {
  page?: number;
  limit?: number;
  total?: number;
  totalPages?: number;
  hasMore?: boolean;
}

/** An answer whose `data` is a list. */
export interface Rows<R> {
  data: R[];
  meta?: PageMeta;
}

/** No answer came. */
export const UNREACHABLE: Failure = {
  status: 0,
  code: 'UNREACHABLE',
  message: 'The service could not be reached.',
  requestId: null,
  retryAfter: null,
};

/** Thrown by {@link Api.get}; `failure` says what happened. */
export class ApiFailure extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** Sends a request: a target such as `/v1/vaults?limit=1`. */
export type Send = (target: string, init?: RequestInit) => Promise<Response>;

/** The public API, as one caller sees it while a page is loaded. */
export class Api {
  /** Seconds since the oldest of the answers was made, if any of them was served because the service could not be reached; else null. */
  stale: number | null = null;
  /** What was asked for: targets such as `/v1/vaults?limit=50`, each once. */
  readonly asked = new Set<string>();

  constructor(private readonly send: Send) {}

  /** The JSON at `path`. Throws {@link ApiFailure} for everything that is not a success. */
  async get<T>(path: string, query: Query = {}): Promise<T> {
    const to = target(path, query);
    this.asked.add(to);
    return this.#ask<T>(to);
  }

  /** Sends JSON to `path`. Throws {@link ApiFailure} for everything that is not a success. */
  async post<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  }

  /** As {@link get}, for a part that the page can do without: the answer, or what happened instead. */
  async optional<T>(path: string, query: Query = {}): Promise<Part<T>> {
    try {
      return { data: await this.get<T>(path, query) };
    } catch (error) {
      if (error instanceof ApiFailure) return { failure: error.failure };
      throw error;
    }
  }

  async #ask<T>(to: string, init?: RequestInit): Promise<T> {
    let response: Response;
    try {
      response = await this.send(to, init);
    } catch {
      throw new ApiFailure(UNREACHABLE);
    }
    if (response.headers.get('warning')?.startsWith('111') || response.headers.get('x-cache') === 'STALE-ERROR') {
      this.stale = Math.max(this.stale ?? 0, Number(response.headers.get('age') ?? 0) || 0);
    }
    let body: unknown;
    try {
      body = await response.json();
    } catch {
      body = null;
    }
    if (response.ok && body !== null) return body as T;
    throw new ApiFailure(failureOf(response, body));
  }
}

/** A part of a page: its data, or why it is missing. */
export type Part<T> = { data: T; failure?: undefined } | { data?: undefined; failure: Failure };

function failureOf(response: Response, body: unknown): Failure {
  const error = (body as { error?: { code?: unknown; message?: unknown; request_id?: unknown } } | null)?.error;
  const retryAfter = Number(response.headers.get('retry-after'));
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  return {
    status: response.ok ? 502 : response.status,
    code: text(error?.code) ?? 'UNEXPECTED_ANSWER',
    message:
      text(error?.message) ?? (response.ok ? 'The answer of the service cannot be read.' : `The service answered with status ${response.status}.`),
    requestId: text(error?.request_id) ?? response.headers.get('x-request-id'),
    retryAfter: retryAfter > 0 ? retryAfter : null,
  };
}

/** A path with its query. */
export function target(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    search.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}
