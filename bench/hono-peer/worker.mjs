// A peer of the service's edge, written with Hono's router and middleware: key, exact limit, cached response, conditional requests.
//
// The SHA-256 of the presented key names a Durable Object that is called once (`guard.mjs`). The list comes from a cached response
// in the isolate's memory, else from the Cache API, else from the service's origin through a signed request like that of the
// service's own edge. With ROWS=memory the isolate instead answers from the rows of the list, which it loads once (`rows.mjs`).
// Bindings: ORIGIN_URL; ASSERTION_KEY, `<id>:<hex>`, for signing; ADMIN_TOKEN, for provisioning keys;
// FIRST_PARTY_ORIGINS, separated by commas.
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { etag, RETAINED_304_HEADERS } from 'hono/etag';
import { createMiddleware } from 'hono/factory';
import { requestId } from 'hono/request-id';
import { routePath } from 'hono/route';
import { copyOf } from './copies.mjs';
import { fromRows } from './rows.mjs';

export { KeyGuard } from './guard.mjs';

const KEY = /^bearer (pk_live_[0-9a-f]{32})$/i;
const ALLOWANCE = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-window'];
const GRANT = ['access-control-allow-origin', 'access-control-expose-headers'];
const RETAINED = [...RETAINED_304_HEADERS, ...ALLOWANCE, ...GRANT, 'age', 'cache-status', 'x-cache', 'x-content-type-options', 'x-data-version', 'x-request-id'];

const app = new Hono();

app.use(requestId({ headerName: '', generator: () => crypto.randomUUID().replaceAll('-', '') }));
app.use(async (c, next) => {
  await next();
  c.header('x-request-id', c.get('requestId'));
  c.header('x-content-type-options', 'nosniff');
});
app.use('/v1/*', cors({ origin: (origin, c) => (origin && c.env.FIRST_PARTY_ORIGINS.split(',').includes(origin) ? origin : null) }));

/** Authenticates and counts the request with a single call of the key's Durable Object. */
const metered = createMiddleware(async (c, next) => {
  const [, key] = KEY.exec(c.req.header('authorization') ?? '') ?? [];
  if (key === undefined) return refusal(c, 401, 'UNAUTHORIZED', 'a key must be presented');
  const verdict = await c.env.KEYS.getByName(await sha256(key)).take(`GET ${routePath(c)}`);
  if (verdict === null) return refusal(c, 401, 'UNAUTHORIZED', 'the key is not known');
  const { principal, admitted, limit, remaining, reset } = verdict;
  if (admitted) {
    c.set('principal', principal);
    await next();
  } else {
    c.res = refusal(c, 429, 'RATE_LIMITED', 'the limit of this minute is reached');
    c.header('retry-after', String(Math.max(1, reset - Math.floor(Date.now() / 1000))));
  }
  [limit, remaining, reset, '60s'].forEach((value, at) => c.header(ALLOWANCE[at], String(value)));
});

app.get('/v1/vaults', metered, etag({ retainedHeaders: RETAINED }), async (c) => {
  const { pathname, search } = new URL(c.req.url);
  const principal = c.get('principal');
  const made = c.env.ROWS === 'memory' ? await fromRows(search, principal, c.env) : undefined;
  const answer = made ?? (await copyOf(pathname + search, principal, c.env, c.executionCtx));
  if (answer === undefined) return refusal(c, 503, 'SERVICE_UNAVAILABLE', 'the service cannot be reached');
  return c.body(answer.body, answer.status, answer.headers);
});

app.put('/keys/:digest', async (c) => {
  if (c.req.header('authorization') !== `Bearer ${c.env.ADMIN_TOKEN}`) return c.notFound();
  await c.env.KEYS.getByName(c.req.param('digest')).provision(await c.req.json());
  return c.body(null, 204);
});

app.get('/ready', (c) => c.text('ready'));
app.notFound((c) => refusal(c, 404, 'NOT_FOUND', 'there is no such route'));
app.onError((error, c) => {
  console.error(error);
  return refusal(c, 500, 'INTERNAL_ERROR', 'an internal error occurred');
});

export default app;

function refusal(c, status, code, message) {
  return c.json({ error: { code, message, request_id: c.get('requestId') } }, status, { 'cache-control': 'no-store' });
}

async function sha256(text) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
