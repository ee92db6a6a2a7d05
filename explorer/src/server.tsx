// The explorer at the edge: answers requests for its pages and files, with the facts that the public API gives to the same caller.

import { renderToString } from 'preact-render-to-string';
import made from 'rds:files';
import { Api, ApiFailure, type Failure, type Send } from './api.js';
import { App } from './app.js';
import { find, type Page, type Place, type State } from './page.js';
import { PAGES } from './pages/index.js';

/** What the Worker's environment gives. */
export interface Environment {
  ASSETS: { fetch(request: Request | string): Promise<Response> };
}

/** The request as workerd makes it: `cf` says who is connected, and a caller cannot set it. */
type Incoming = Request & { cf?: { colo?: string } };

const FILES = '/explorer/';
const SECURITY = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'cross-origin-opener-policy': 'same-origin',
};
/** Headers of the caller that its requests to the API do not have: credentials, conditions, and what describes the HTML. */
const DROPPED = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
  'origin',
  'range',
  'if-none-match',
  'if-modified-since',
  'if-range',
  'accept',
  'expect',
  'content-length',
  'content-type',
  'transfer-encoding',
];

/**
 * The answer to a request for a page or a file of the explorer; undefined for every other request. `ask` answers a request to the API as the
 * Worker answers it, so limits count for the caller. Never rejects.
 */
export async function explore(request: Incoming, env: Environment, ask: (request: Request) => Promise<Response>): Promise<Response | undefined> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
  const url = new URL(request.url);
  if (url.pathname.startsWith(FILES)) return file(url.pathname.slice(FILES.length), request, env);
  if (url.pathname === '/' && !request.headers.get('accept')?.includes('text/html')) return undefined;
  const path = url.pathname === '/' ? '/vaults' : url.pathname;
  const found = find(PAGES, path);
  if (!found) return undefined;
  const id = crypto.randomUUID().replaceAll('-', '');
  try {
    const place: Place = { path, params: found.params, search: url.search.slice(1) };
    const { default: page } = await found.entry.module();
    const state = await load(page, place, asCaller(request, url, ask));
    return await html(request, id, found.entry.name, page, place, state);
  } catch (error) {
    console.error(`explorer: ${id}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    const sentence = `Quote the request id ${id} when you report it.`;
    const text = `<!doctype html><html lang="en"><title>Error</title><h1>The page could not be made</h1><p>${sentence}</p></html>`;
    return new Response(request.method === 'HEAD' ? null : text, {
      status: 500,
      headers: { ...headers(id), 'cache-control': 'no-store' },
    });
  }
}

/** Loads a page; what the API refuses becomes the page's state. */
async function load(page: Page<unknown>, place: Place, send: Send): Promise<State> {
  const api = new Api(send);
  // By the minute, so that a page is the same, and so is its ETag, until a fact or an age changes.
  const now = `${new Date().toISOString().slice(0, 16)}:00.000Z`;
  try {
    const data = await page.load({ api, place, query: new URLSearchParams(place.search) });
    return { data, now, stale: api.stale, asked: [...api.asked] };
  } catch (error) {
    if (error instanceof ApiFailure) return { failure: error.failure, now, stale: null, asked: [...api.asked] };
    throw error;
  }
}

/** Sends requests to the API as the caller, without its credentials. */
function asCaller(request: Incoming, url: URL, ask: (request: Request) => Promise<Response>): Send {
  return (target, init) => {
    const sent = new Headers(request.headers);
    for (const name of DROPPED) sent.delete(name);
    sent.set('accept', 'application/json');
    const options: RequestInit & { cf?: Incoming['cf'] } = { ...init, headers: sent };
    if (request.cf !== undefined) options.cf = request.cf;
    return ask(new Request(new URL(target, url.origin), options));
  };
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

function headers(id: string): Record<string, string> {
  return {
    ...SECURITY,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'x-request-id': id,
    vary: 'Accept, Accept-Encoding',
  };
}

/** The header that makes workerd compress an answer. Cloudflare, whose requests name its data centre, compresses by itself, and better. */
function packing(request: Incoming): Record<string, string> {
  const accepted = (request.headers.get('accept-encoding') ?? '').toLowerCase().split(',');
  const isAccepted = accepted.some((one) => {
    const [name, ...parameters] = one.split(';').map((it) => it.trim());
    return name === 'gzip' && !parameters.some((it) => /^q=0(\.0*)?$/.test(it));
  });
  return isAccepted && request.cf?.colo === undefined ? { 'content-encoding': 'gzip' } : {};
}

/** The status of a page: that of its facts. */
function statusOf(failure: Failure | undefined): number {
  if (!failure) return 200;
  return failure.status >= 400 ? failure.status : 503;
}

async function html(request: Incoming, id: string, name: string, page: Page<unknown>, place: Place, state: State): Promise<Response> {
  const status = statusOf(state.failure);
  const head = state.failure ? { title: 'Not available', about: state.failure.message } : page.head(state.data, place);
  const app = renderToString(<App page={page} place={place} state={state} />);
  const { browser, style, theme, icon, preview, shared, pages } = made.loaded;
  const ahead = [...new Set([...shared, ...(pages[name] ?? [])])].map((file) => `<link rel="modulepreload" href="${file}">`).join('');
  const title = escape(`${head.title} · Risk Data Service`);
  const about = escape(clipped(head.about));
  const address = escape(new URL(place.path, request.url).href);
  const data = JSON.stringify(state).replaceAll('<', '\\u003c');
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><meta name="description" content="${about}"><meta name="color-scheme" content="light dark">
<meta property="og:title" content="${title}"><meta property="og:description" content="${about}">
<meta property="og:type" content="website"><meta property="og:url" content="${address}">
<meta property="og:image" content="${escape(new URL(preview, request.url).href)}"><meta name="twitter:card" content="summary_large_image">
<link rel="canonical" href="${address}"><link rel="icon" href="${icon}" type="image/svg+xml">
<link rel="stylesheet" href="${style}"><script src="${theme}"></script>
${ahead}<script type="module" src="${browser}"></script></head>
<body><div id="app">${app}</div><script type="application/json" id="state">${data}</script></body></html>
`;
  const sent = { ...headers(id), ...packing(request) };
  sent['cache-control'] = state.failure ? 'no-store' : 'private, no-cache';
  if (state.failure?.retryAfter) sent['retry-after'] = String(state.failure.retryAfter);
  if (status === 200) {
    // Weak, because the compressed page has the same.
    const etag = `W/"${(await sha256(new TextEncoder().encode(text))).slice(0, 32)}"`;
    sent['etag'] = etag;
    if (holds(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers: sent });
  }
  return new Response(request.method === 'HEAD' ? null : text, { status, headers: sent });
}

/** The SHA-256 in hexadecimal. */
async function sha256(bytes: BufferSource): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes);
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** An ETag without the mark of a weak one. */
const bare = (etag: string): string => etag.trim().replace(/^W\//, '');

function holds(given: string | null, etag: string): boolean {
  return given !== null && given.split(',').some((one) => one.trim() === '*' || bare(one) === bare(etag));
}

/** A description in the length that search engines and previews show. */
function clipped(text: string): string {
  const signs = [...text];
  return signs.length > 300 ? `${signs.slice(0, 299).join('')}…` : text;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** A file of the browser. Its name contains a hash of its content, so it never changes. */
async function file(name: string, request: Incoming, env: Environment): Promise<Response | undefined> {
  const known = Object.hasOwn(made.files, name) ? made.files[name] : undefined;
  if (!known) return undefined;
  const etag = `W/"${known.asset.slice(0, 32)}"`;
  const sent: Record<string, string> = {
    ...SECURITY,
    'content-type': known.type,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
    etag,
    ...(known.type.startsWith('text/') ? packing(request) : {}),
  };
  if (holds(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers: sent });
  if (request.method === 'HEAD') return new Response(null, { headers: sent });
  try {
    const stored = await env.ASSETS.fetch(`https://assets.local/${known.asset}`);
    const bytes = stored.ok ? await stored.arrayBuffer() : null;
    if (bytes?.byteLength === known.size && (await sha256(bytes)) === known.asset) return new Response(bytes, { headers: sent });
    console.error(`explorer: the asset ${known.asset} of ${name} is missing or damaged (status ${stored.status}, ${bytes?.byteLength ?? 0} bytes)`);
  } catch (error) {
    console.error(`explorer: the asset ${known.asset} of ${name} cannot be read: ${String(error)}`);
  }
  return new Response('This file is not available now.\n', {
    status: 503,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', 'retry-after': '5' },
  });
}
