// Errors: one root, a class per way of failing, and the answer's content on those that the service sent.
import type { ErrorDetail } from '../generated/types.js';

/**
 * The root of every error of this library.
 *
 * @example
 * try {
 *   await client.service.status();
 * } catch (error) {
 *   if (error instanceof RiskDataError) console.error(error.kind, error.message);
 * }
 */
export class RiskDataError extends Error {
  override readonly name: string = 'RiskDataError';
  /** How it failed: `api`, `connection`, `timeout`, `cancelled`, `decoding` or `webhook`. */
  readonly kind: string;

  constructor(kind: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** What an error answer says. */
export interface ApiErrorContent {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly requestId: string | null;
  readonly details: readonly ErrorDetail[];
  readonly detailCount: number;
  readonly retryAfter: number | null;
  readonly legacyCode: string | null;
  readonly successor: string | null;
  readonly headers: Headers;
}

/**
 * The service answered with an error. There is a subclass per code; an unknown code of a newer server is an `ApiError` itself.
 *
 * @example
 * try {
 *   await client.vaults.get('no-such-vault');
 * } catch (error) {
 *   if (!(error instanceof ApiError)) throw error;
 *   console.error(error.code, error.status, error.requestId, error.details);
 * }
 */
export class ApiError extends RiskDataError {
  override readonly name: string = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** The error code. Decide by this and not by the message. */
  readonly code: string;
  /** Identifies the request in the service's logs. */
  readonly requestId: string | null;
  /** The faults of the request. */
  readonly details: readonly ErrorDetail[];
  /** Number of all faults, also of those that `details` leaves out. */
  readonly detailCount: number;
  /** Seconds to wait before a retry; null if the answer does not say. */
  readonly retryAfter: number | null;
  /** The code of an earlier version of the API, if it had another. */
  readonly legacyCode: string | null;
  /** The version that replaces a retired one. */
  readonly successor: string | null;
  /** The answer's headers. */
  readonly headers: Headers;

  constructor(content: ApiErrorContent) {
    super('api', `${content.code}: ${content.message}`);
    this.status = content.status;
    this.code = content.code;
    this.requestId = content.requestId;
    this.details = content.details;
    this.detailCount = content.detailCount;
    this.retryAfter = content.retryAfter;
    this.legacyCode = content.legacyCode;
    this.successor = content.successor;
    this.headers = content.headers;
  }
}

/**
 * The connection failed or broke before the answer was complete. The request may have been carried out.
 *
 * @example
 * try {
 *   await client.service.status();
 * } catch (error) {
 *   if (error instanceof ConnectionError) console.error('offline?', error.cause);
 * }
 */
export class ConnectionError extends RiskDataError {
  override readonly name: string = 'ConnectionError';

  constructor(cause: unknown) {
    super('connection', `the connection failed: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

/**
 * No complete answer within the time for one try. The request may have been carried out.
 *
 * @example
 * try {
 *   await client.service.status({ timeoutMs: 1000, maxRetries: 0 });
 * } catch (error) {
 *   if (error instanceof TimeoutError) console.error(error.message);
 * }
 */
export class TimeoutError extends RiskDataError {
  override readonly name: string = 'TimeoutError';

  constructor(timeoutMs: number) {
    super('timeout', `no complete answer within ${timeoutMs} ms`);
  }
}

/**
 * The caller's signal cancelled the request.
 *
 * @example
 * try {
 *   await client.service.status({ signal: AbortSignal.abort() });
 * } catch (error) {
 *   if (error instanceof CancelledError) console.error(error.message);
 * }
 */
export class CancelledError extends RiskDataError {
  override readonly name: string = 'CancelledError';

  constructor(cause?: unknown) {
    super('cancelled', 'the request was cancelled', cause);
  }
}

/**
 * The answer is not what the API promises: no JSON.
 *
 * @example
 * try {
 *   await client.service.status();
 * } catch (error) {
 *   if (error instanceof DecodingError) console.error('not the service?', error.message);
 * }
 */
export class DecodingError extends RiskDataError {
  override readonly name: string = 'DecodingError';

  constructor(message: string, cause?: unknown) {
    super('decoding', message, cause);
  }
}
