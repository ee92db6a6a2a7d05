// Everything but the verification of decisions, which needs cryptography of its own: that is `@risk-data/client/decisions`.
export { Client } from './client.js';
export { ApiError, CancelledError, ConnectionError, DecodingError, RiskDataError, TimeoutError } from './core/api-error.js';
export { infoOf } from './core/info.js';
export type { RateLimit, ResponseInfo } from './core/info.js';
export type { CommonOptions, RequestOptions, StreamOptions } from './core/operation.js';
export { Pages } from './core/pages.js';
export type { Clock } from './core/retry.js';
export { EventStream } from './core/stream.js';
export type { CursorFrame, DrainingFrame, GapFrame, OperationFrame, ReadyFrame, StreamFrame } from './core/stream.js';
export type { ClientOptions } from './core/transport.js';
export type { DeliveryData } from './generated/deliveries.js';
export * from './generated/errors.js';
export * from './generated/resources.js';
export type * as types from './generated/types.js';
export { verifyWebhook, WebhookError } from './webhooks.js';
export type { WebhookEvent, WebhookInput, WebhookRefusal } from './webhooks.js';
