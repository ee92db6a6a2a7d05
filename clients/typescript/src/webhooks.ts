// Webhook deliveries: whether they are the service's, recent and unaltered.
import { RiskDataError } from './core/api-error.js';
import type { DeliveryData } from './generated/deliveries.js';

/** Why a delivery is refused. */
export type WebhookRefusal = 'missing_header' | 'malformed_header' | 'too_old' | 'too_new' | 'no_match' | 'malformed_body';

/**
 * The delivery must not be trusted.
 *
 * @example
 * try {
 *   await verifyWebhook({ headers: {}, body: '', secrets: 'whsec_example' });
 * } catch (error) {
 *   if (error instanceof WebhookError) console.error(error.reason);
 * }
 */
export class WebhookError extends RiskDataError {
  override readonly name: string = 'WebhookError';
  /** Why. */
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string) {
    super('webhook', message);
    this.reason = reason;
  }
}

/** A verified delivery. A newer server may send other types: let `default` ignore them. */
export type WebhookEvent = {
  [Type in keyof DeliveryData]: {
    /** The same in every attempt: deduplicate on it. */
    readonly event_id: string;
    readonly event_type: Type;
    readonly occurred_at: string;
    readonly data: DeliveryData[Type];
  };
}[keyof DeliveryData];

/** What is verified. */
export interface WebhookInput {
  /** The request's headers. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body's bytes as received, before anything parsed them. */
  readonly body: string | Uint8Array;
  /** The signing secret (`whsec_…`), or all that may be in use during a rotation. */
  readonly secrets: string | readonly string[];
  /** Seconds that the signature may be away from now. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Unix seconds now, for tests. */
  readonly now?: number | undefined;
  /** `service` for `X-Service-Signature`, `standard` for Standard Webhooks. Default: the first whose header is there. */
  readonly scheme?: 'service' | 'standard' | undefined;
}

/** A signature header in parts. */
interface Signed {
  readonly seconds: string;
  readonly prefix: string;
  readonly signatures: readonly Uint8Array[];
}

/**
 * Verifies a delivery in constant time and returns its event. Throws a `WebhookError` if it must not be trusted.
 *
 * @example
 * const receive = async (request: Request): Promise<Response> => {
 *   const body = new Uint8Array(await request.arrayBuffer());
 *   const event = await verifyWebhook({ headers: request.headers, body, secrets: 'whsec_example' });
 *   if (event.event_type === 'rating.changed') console.log(event.data.title);
 *   return new Response(null, { status: 204 });
 * };
 * console.log(receive.length);
 */
export async function verifyWebhook(input: WebhookInput): Promise<WebhookEvent> {
  const { toleranceSeconds = 300, now = Date.now() / 1000 } = input;
  const header = (name: string): string | undefined => headerOf(input.headers, name);
  const scheme = input.scheme ?? (header('x-service-signature') === undefined ? 'standard' : 'service');
  const signed = scheme === 'service' ? serviceHeader(header) : standardHeader(header);
  const body = typeof input.body === 'string' ? new TextEncoder().encode(input.body) : input.body;
  const message = joined(new TextEncoder().encode(signed.prefix), body);
  const secrets = typeof input.secrets === 'string' ? [input.secrets] : input.secrets;
  if (!(await anyMatches(secrets, scheme, message, signed.signatures))) {
    throw new WebhookError('no_match', 'no signature of the delivery matches a secret');
  }
  // After the signature, so that nobody without the secret learns the receiver's clock.
  const age = now - Number(signed.seconds);
  if (age > toleranceSeconds) throw new WebhookError('too_old', `the delivery was signed ${Math.round(age)} s ago`);
  if (age < -toleranceSeconds) throw new WebhookError('too_new', `the delivery was signed ${Math.round(-age)} s in the future`);
  return parsed(body);
}

/** Tries every secret with every signature; the time does not depend on which of them matches. */
async function anyMatches(
  secrets: readonly string[],
  scheme: string,
  message: Uint8Array,
  signatures: readonly Uint8Array[],
): Promise<boolean> {
  let matches = false;
  for (const secret of secrets) {
    const bytes = scheme === 'service' ? new TextEncoder().encode(secret) : standardKey(secret);
    if (bytes.length === 0) continue;
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const key = await globalThis.crypto.subtle.importKey('raw', bytes as BufferSource, algorithm, false, ['verify']);
    for (const signature of signatures) {
      const isEqual = await globalThis.crypto.subtle.verify('HMAC', key, signature as BufferSource, message as BufferSource);
      matches = matches || isEqual;
    }
  }
  return matches;
}

type Header = (name: string) => string | undefined;

/** `t=<seconds>,v1=<hex>,v1=<hex>` */
function serviceHeader(header: Header): Signed {
  const text = present(header, 'x-service-signature');
  const parts = text.split(',').map((part) => part.trim().split('='));
  const times = parts.filter(([name]) => name === 't').map(([, value]) => value ?? '');
  const [seconds = ''] = times;
  const signatures = parts.flatMap(([name, value]) => (name === 'v1' ? [fromHex(value ?? '')] : []));
  if (times.length !== 1 || !/^\d{1,15}$/.test(seconds) || signatures.length === 0) {
    throw new WebhookError('malformed_header', 'X-Service-Signature is not of the form t=<seconds>,v1=<hex>');
  }
  return { seconds, prefix: `${seconds}.`, signatures };
}

/** Standard Webhooks: `webhook-id`, `webhook-timestamp`, and `v1,<base64>` separated by spaces. */
function standardHeader(header: Header): Signed {
  const [id, seconds] = [present(header, 'webhook-id'), present(header, 'webhook-timestamp')];
  const parts = present(header, 'webhook-signature').split(' ').map((part) => part.split(','));
  const signatures = parts.flatMap(([version, value]) => (version === 'v1' ? [fromBase64(value ?? '')] : []));
  if (!/^\d{1,15}$/.test(seconds) || signatures.length === 0) {
    throw new WebhookError('malformed_header', 'webhook-timestamp or webhook-signature is not of the form of Standard Webhooks');
  }
  return { seconds, prefix: `${id}.${seconds}.`, signatures };
}

function present(header: Header, name: string): string {
  const text = header(name);
  if (text === undefined) throw new WebhookError('missing_header', `the header ${name} is missing`);
  return text;
}

function headerOf(headers: WebhookInput['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' || found === undefined ? found : found.join(', ');
}

/** The key of Standard Webhooks: what follows `whsec_`, as Base64. */
function standardKey(secret: string): Uint8Array {
  return fromBase64(secret.replace(/^whsec_/, ''));
}

function fromHex(text: string): Uint8Array {
  const pairs = /^([0-9a-fA-F]{2})*$/.test(text) ? (text.match(/../g) ?? []) : [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

function parsed(body: Uint8Array): WebhookEvent {
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    const isEvent = typeof event === 'object' && event !== null && typeof (event as WebhookEvent).event_type === 'string';
    if (isEvent) return event as WebhookEvent;
  } catch {
    // Reported below.
  }
  throw new WebhookError('malformed_body', 'the body is signed, but is not an event');
}
