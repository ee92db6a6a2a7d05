// Signed requests to the origin, as an edge sends them.

/** Names of the origin's headers that callers get. */
const PASSED = ['content-type', 'cache-control', 'etag', 'link', 'x-data-version'];
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** The headers of an answer that callers get. */
export function passed(headers) {
  return Object.fromEntries(PASSED.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]));
}

let signer;

/** Sends a signed request to the origin; `etag` is that of a copy to be confirmed. */
export async function ask(target, principal, etag, env) {
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
  if (etag) headers['if-none-match'] = etag;
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
