// Cached responses of the origin: in the isolate's memory and in the Cache API, revalidated by ETag, and served if the origin fails.

import { ask, passed } from './origin.mjs';

/** Maximum number and total bytes of cached responses in memory; the least recently used is evicted. */
const MAX_ENTRIES = 4_096;
const MAX_BYTES = 24 << 20;

const copies = new Map();
let bytes = 0;

/** The answer to a target: `{ status, body, headers }`; undefined if nothing is cached and the origin cannot be reached. */
export async function copyOf(target, principal, env, context) {
  // Plans may see different content, so each has its own cached response.
  const name = `https://cache.internal/${principal.plan}${target}`;
  let copy = remembered(name);
  if (copy && age(copy) < copy.fresh) return hit(copy);
  const stored = await caches.default.match(name).catch(() => undefined);
  if (stored !== undefined) {
    const found = await restored(stored);
    if (copy === undefined || found.at > copy.at) remember(name, (copy = found));
    if (age(copy) < copy.fresh) return hit(copy);
  }
  const answer = await ask(target, principal, copy?.headers.etag, env).catch(() => undefined);
  if (copy !== undefined && (answer === undefined || answer.status >= 500)) return served(copy, 'STALE-ERROR', 'fwd=stale; detail="stale-if-error"');
  if (answer === undefined) return undefined;
  if (answer.status === 304) {
    copy = { ...copy, at: Date.now(), headers: { ...copy.headers, ...passed(answer.headers) } };
    keep(name, copy, context);
    return served(copy, 'HIT', 'fwd=stale; fwd-status=304; stored');
  }
  const body = await answer.arrayBuffer();
  const control = answer.headers.get('cdn-cache-control') ?? '';
  const fresh = answer.status === 200 ? Number(/max-age=(\d+)/.exec(control)?.[1] ?? 0) : 0;
  copy = { status: answer.status, body, headers: passed(answer.headers), fresh, at: Date.now() };
  if (fresh > 0) keep(name, copy, context);
  const { headers } = served(copy, 'MISS', `fwd=miss; fwd-status=${answer.status}${fresh > 0 ? '; stored' : ''}`);
  delete headers.age;
  return { ...copy, headers };
}

const age = (copy) => Math.floor((Date.now() - copy.at) / 1000);
const hit = (copy) => served(copy, 'HIT', `hit; ttl=${copy.fresh - age(copy)}`);

function served(copy, cache, how) {
  const { status, body } = copy;
  const own = { 'x-cache': cache, 'cache-status': `hono; ${how}`, age: String(age(copy)) };
  return { status, body, headers: { 'cache-control': 'public, max-age=0, must-revalidate', ...copy.headers, ...own } };
}

/** The cached response in memory, marked as recently used. */
function remembered(name) {
  const copy = copies.get(name);
  if (copy !== undefined) {
    copies.delete(name);
    copies.set(name, copy);
  }
  return copy;
}

function remember(name, copy) {
  const older = copies.get(name);
  if (older !== undefined) forget(name, older);
  copies.set(name, copy);
  bytes += copy.body.byteLength;
  for (const [oldest, held] of copies) {
    if (copies.size <= MAX_ENTRIES && bytes <= MAX_BYTES) break;
    forget(oldest, held);
  }
}

function forget(name, copy) {
  copies.delete(name);
  bytes -= copy.body.byteLength;
}

function keep(name, copy, context) {
  remember(name, copy);
  const { body, status, ...rest } = copy;
  const headers = { 'cache-control': 'max-age=86400', 'x-copy': JSON.stringify(rest) };
  context.waitUntil(caches.default.put(name, new Response(body, { status, headers })).catch(() => {}));
}

async function restored(stored) {
  return { status: stored.status, ...JSON.parse(stored.headers.get('x-copy')), body: await stored.arrayBuffer() };
}
