// The stack under test: its listeners, and requests to them.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

/** Rows of one list that a caller without a key may page through. */
export const MAX_ROWS_WITHOUT_KEY = 200;
/** A browser origin that `cargo xtask up` allows, and one that it does not. */
export const ALLOWED_ORIGIN = 'http://localhost:3000';
export const OTHER_ORIGIN = 'http://localhost:3999';

/** The description of a running stack, as written by `cargo xtask up`, with requests to its listeners. */
export class Stack {
  constructor(description) {
    Object.assign(this, description);
  }

  /** Sends a request to the edge. */
  get(target, options) {
    return request(this.edge, target, options);
  }

  /** Sends a JSON body to the edge. */
  post(target, body, headers = {}) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return request(this.edge, target, { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers } });
  }

  /** Sends a request to the admin listener, as an operator. */
  operate(target, { headers, ...options } = {}) {
    return request(this.admin, target, { ...options, headers: { authorization: `Bearer ${this.admin_token}`, ...headers } });
  }

  /** Moves the service's clock forward; tests move the clock instead of sleeping. */
  async advance(seconds) {
    const answer = await this.operate('/clock', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance_seconds: seconds }),
    });
    if (answer.status !== 200) throw new Error(`the clock was not moved: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  /** The rows of a paged list, as many as a caller without a key may read. */
  async pages(target, limit = 100) {
    const rows = [];
    for (let page = 1; ; page += 1) {
      const { json } = await this.ok(`${target}${target.includes('?') ? '&' : '?'}limit=${limit}&page=${page}`);
      rows.push(...json.data);
      if (page >= json.meta.totalPages || page * limit >= MAX_ROWS_WITHOUT_KEY) return rows;
    }
  }

  /** All vaults of the demo, read with a key; never from cached responses, which may be older than the last change. */
  async vaults() {
    const headers = { authorization: `Bearer ${this.keys.data}` };
    // An unknown chain adds no rows, but makes the URL new and therefore uncached.
    const list = `/v1/vaults?limit=100&chain=devnet,no-${randomBytes(6).toString('hex')}`;
    const rows = [];
    for (let page = 1; ; page += 1) {
      const { json } = await this.ok(`${list}&page=${page}`, { headers });
      rows.push(...json.data);
      if (page >= json.meta.totalPages) return rows;
    }
  }

  /** Sends a request to the edge that must be answered with 200. */
  async ok(target, options) {
    const answer = await this.get(target, options);
    if (answer.status !== 200) throw new Error(`${target}: ${answer.status} ${answer.text}`);
    return answer;
  }
}

/** The stack that `cargo xtask test e2e` started, with demo data and a test clock. */
export function sharedStack() {
  const path = process.env.RDS_STACK;
  if (!path) throw new Error('RDS_STACK is not set; run these tests with `cargo xtask test e2e`');
  return new Stack(JSON.parse(readFileSync(path, 'utf8')));
}

/** This run's part of the documentation prefix (RFC 3849), so that runs within one minute do not share rate limits. */
const RUN = randomBytes(2).toString('hex');
let callers = randomBytes(2).readUInt16BE();

/** A new client address in its own /48, because rate limits apply per /64 and per /48. */
export function newCaller() {
  callers += 1;
  return `2001:db8:${(callers & 0xffff).toString(16)}:${RUN}::1`;
}

/** A new IPv4 client address, in the range reserved for benchmarks (RFC 2544). */
export function newIpv4Caller() {
  const [half, high, low] = randomBytes(3);
  return `198.${18 + (half & 1)}.${high}.${low}`;
}

/**
 * Sends one request. `json` is the parsed body, or undefined if it is not JSON; `millis` is the response time.
 *
 * The request has a new client address unless the headers name one, so that tests do not share rate limits.
 */
export async function request(base, target, { method = 'GET', headers = {}, body, timeout = 65_000 } = {}) {
  const started = performance.now();
  const response = await fetch(new URL(target, base), {
    method,
    body,
    headers: { 'cf-connecting-ip': newCaller(), ...headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout),
  });
  const text = await response.text();
  const millis = performance.now() - started;
  return { status: response.status, headers: response.headers, text, json: parsed(text), millis };
}

/**
 * The same for a GET request on a connection of its own. A broken connection then always means that the server broke it: fetch may send
 * a request on a pooled connection whose event stream the server has just ended, and that request fails.
 */
export async function requestOnNewConnection(base, target, { headers = {}, timeout = 65_000 } = {}) {
  const started = performance.now();
  const options = { headers: { 'cf-connecting-ip': newCaller(), ...headers }, agent: false, signal: AbortSignal.timeout(timeout) };
  const [response] = await once(get(new URL(target, base), options), 'response');
  const text = await textOf(response);
  const millis = performance.now() - started;
  return { status: response.statusCode, headers: new Headers(Object.entries(response.headers)), text, json: parsed(text), millis };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Calls `probe` every `pauseMillis` until its result is truthy, and returns the result. Fails with `what` after `seconds`. */
export async function until(what, seconds, probe, pauseMillis = 50) {
  const deadline = performance.now() + seconds * 1000;
  let last;
  while (performance.now() < deadline) {
    try {
      const found = await probe();
      if (found) return found;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMillis));
  }
  throw new Error(`not within ${seconds} s: ${what}`, { cause: last });
}

/** The target with a new query, so that its first response comes from the origin. */
export function uncachedTarget(target) {
  const minTvl = Number.parseInt(randomBytes(5).toString('hex'), 16) / 2 ** 42;
  return `${target}${target.includes('?') ? '&' : '?'}minTvl=${minTvl.toFixed(12)}`;
}
