// Cached responses of the origin: in the isolate's memory and in the Cache API, revalidated by ETag, and served if the origin fails.

/** Maximum number and total bytes of cached responses in memory; the least recently used is evicted. */
const MAX_ENTRIES = 4_096;
const MAX_BYTES = 24 << 20;
const PASSED = ['content-type', 'cache-control', 'etag', 'link', 'x-data-version'];
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

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
  const answer = await ask(target, principal, copy, env).catch(() => undefined);
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

function passed(headers) {
  return Object.fromEntries(PASSED.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]));
}

let signer;

/** Sends a signed request to the origin, as an edge does. */
async function ask(target, principal, copy, env) {
  signer ??= signerOf(env.ASSERTION_KEY);
  const { id, key } = await signer;
  const whom = JSON.stringify(principal);
  const [nonce, request] = [random(), random()];
  const seconds = Math.floor(Date.now() / 1000);
  const text = `v1\nGET\n${target}\n${seconds}\n${nonce}\n${EMPTY}\n${whom}`;
  const signature = hex(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text)));
  const headers = {
    accept: 'application/json',
    'x-service-assertion': `v1;${id};${seconds};${nonce};${signature}`,
    'x-service-principal': whom,
    'x-request-id': request,
  };
  if (copy?.headers.etag) headers['if-none-match'] = copy.headers.etag;
  return fetch(env.ORIGIN_URL + target, { headers, redirect: 'manual', signal: AbortSignal.timeout(10_000) });
}

async function signerOf(text) {
  const [first] = text.split(',');
  const [id, secret] = first.split(':');
  const bytes = Uint8Array.from(secret.match(/../g), (pair) => Number.parseInt(pair, 16));
  return { id, key: await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']) };
}

const random = () => hex(crypto.getRandomValues(new Uint8Array(16)));

function hex(bytes) {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
