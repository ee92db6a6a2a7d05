// The stack under test: its doors, and requests to them.

import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';

/** Rows of one list that a caller without a key may page through. */
export const KEYLESS_ROWS = 200;
/** A browser origin that `cargo xtask up` configures as the service's own, and one that it does not. */
export const OURS = 'http://localhost:3000';
export const THEIRS = 'http://localhost:3999';

/** What `cargo xtask up` wrote about a running stack, with requests to its doors. */
export class Stack {
  constructor(description) {
    Object.assign(this, description);
  }

  /** A request to the edge. */
  get(target, options) {
    return request(this.edge, target, options);
  }

  /** A JSON body to the edge. */
  post(target, body, headers = {}) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return request(this.edge, target, { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers } });
  }

  /** A request to the admin door, as an operator. */
  operate(target, { headers, ...options } = {}) {
    return request(this.admin, target, { ...options, headers: { authorization: `Bearer ${this.admin_token}`, ...headers } });
  }

  /** Moves the service's clock forward; time in these tests is moved, never slept for. */
  async advance(seconds) {
    const answer = await this.operate('/clock', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance_seconds: seconds }),
    });
    if (answer.status !== 200) throw new Error(`the clock was not moved: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  /** The rows of a numbered list, page by page, as far as a caller without a key may go. */
  async pages(target, limit = 100) {
    const rows = [];
    for (let page = 1; ; page += 1) {
      const { json } = await this.ok(`${target}${target.includes('?') ? '&' : '?'}limit=${limit}&page=${page}`);
      rows.push(...json.data);
      if (page >= json.meta.totalPages || page * limit >= KEYLESS_ROWS) return rows;
    }
  }

  /** Every vault of the demo, as the holder of a key may page through them; never out of copies, which may be older than the last change. */
  async vaults() {
    const headers = { authorization: `Bearer ${this.keys.data}` };
    // A chain that does not exist adds nothing, and makes this a list that nobody asked for before.
    const list = `/v1/vaults?limit=100&chain=devnet,no-${randomBytes(6).toString('hex')}`;
    const rows = [];
    for (let page = 1; ; page += 1) {
      const { json } = await this.ok(`${list}&page=${page}`, { headers });
      rows.push(...json.data);
      if (page >= json.meta.totalPages) return rows;
    }
  }

  /** A request that must succeed. */
  async ok(target, options) {
    const answer = await this.get(target, options);
    if (answer.status !== 200) throw new Error(`${target}: ${answer.status} ${answer.text}`);
    return answer;
  }
}

/** The stack that `cargo xtask test e2e` started: demo data, clock under our control. */
export function sharedStack() {
  const path = process.env.RDS_STACK;
  if (!path) throw new Error('RDS_STACK names no stack.json; run these tests by `cargo xtask test e2e`');
  return new Stack(JSON.parse(readFileSync(path, 'utf8')));
}

/** This run's part of the documentation network, so that runs within one minute do not meet. */
const RUN = randomBytes(2).toString('hex');
let callers = randomBytes(2).readUInt16BE();

/** A caller nobody was before: a site of its own, because allowances are counted by /64 and by /48. */
export function newCaller() {
  callers += 1;
  return `2001:db8:${(callers & 0xffff).toString(16)}:${RUN}::1`;
}

/** A caller nobody was before, with an address of the old kind (the range is set apart for benchmarks). */
export function newIpv4Caller() {
  const [half, high, low] = randomBytes(3);
  return `198.${18 + (half & 1)}.${high}.${low}`;
}

/**
 * One request. `json` is the parsed body, or undefined when it is no JSON; `millis` is how long the answer took.
 *
 * It comes from an address of its own unless the headers name one, so that no test lives on another's allowance.
 */
export async function request(base, target, { method = 'GET', headers = {}, body, timeout = 65_000 } = {}) {
  const begun = performance.now();
  const response = await fetch(new URL(target, base), {
    method,
    body,
    headers: { 'cf-connecting-ip': newCaller(), ...headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout),
  });
  const text = await response.text();
  const millis = performance.now() - begun;
  return { status: response.status, headers: response.headers, text, json: parsed(text), millis };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Asks until `probe` gives something truthy, and gives it on. Fails with `what` after `seconds`. `pauseMillis` spares what is asked. */
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

/** A query that nobody asked before, so that the first answer to it comes from the origin. */
export function unasked(target) {
  const least = Number.parseInt(randomBytes(5).toString('hex'), 16) / 2 ** 42;
  return `${target}${target.includes('?') ? '&' : '?'}minTvl=${least.toFixed(12)}`;
}
