// Requests that carry a secret where it does not belong: in every header, in URLs and in bodies.
//
// `isForwarded` marks requests that the edge must forward, because only the origin can read the secret's place. `isEchoed` marks requests
// with the secret as the name of a field, parameter or kind, which the service repeats as unknown. A parameter name that is a key or an
// index token is not repeated: the service shows only its prefix.

/** Headers that the edge, the origin or a proxy before them reads. */
const HEADERS = [
  'cookie', 'user-agent', 'referer', 'origin', 'x-api-key', 'x-request-id', 'traceparent', 'if-none-match', 'accept', 'cf-connecting-ip', 'x-forwarded-for',
  'x-service-subclient', 'x-service-client-ip', 'x-service-tags', 'last-event-id', 'idempotency-key', 'content-type', 'x-service-assertion', 'x-service-principal',
];
/** Headers of a stream request that the edge forwards to the origin. */
const FORWARDED_HEADERS = ['last-event-id', 'x-service-client-ip'];
const READS = ['/v1/vaults', '/v1/me', '/v1/indices', '/v1/health', '/v1/events/stream?since=never'];

/** Requests with a secret in a header; those with the headers `credential` are authorised. */
export function* inHeaders(secret, credential) {
  for (const scheme of ['Bearer ', 'bearer ', 'Basic ', 'Token ', '']) yield { target: READS[1], headers: { authorization: `${scheme}${secret}` } };
  yield { target: READS[0], headers: { authorization: `Bearer ${secret}, Bearer ${secret}` } };
  for (const name of HEADERS) {
    yield { target: READS[HEADERS.indexOf(name) % READS.length], headers: { [name]: secret } };
    yield { target: '/v1/me', headers: { ...credential, [name]: secret } };
    yield { target: '/v1/events/stream', headers: { ...credential, [name]: secret }, isForwarded: FORWARDED_HEADERS.includes(name) };
  }
}

/** Requests with a secret in the query, as an unknown parameter or an invalid value. */
export function* inQueries(secret, credential) {
  const value = encodeURIComponent(secret);
  for (const query of [`api_key=${value}`, `limit=${value}`, `page=1&chain=${value}%00`, `sortBy=${value}`, `minTvl=${value}`]) {
    yield { target: `/v1/vaults?${query}`, headers: credential };
  }
  yield { target: `/v1/vaults?${value}=1`, headers: credential, isEchoed: !/^[pi][kx]_live_/.test(secret) };
  yield { target: `/v1/vaults/scores?token=${value}`, headers: {} };
  yield { target: `/v1/events/stream?since=${value}`, headers: credential, isForwarded: true };
  yield { target: `/metrics?${value}`, headers: {} };
}

/** Requests with a secret in the body, in fields that the service must not store. */
export function* inBodies(secret, credential) {
  const json = JSON.stringify;
  for (const [target, body] of [
    ['/v1/vaults/batch', secret], ['/v1/vaults/batch', json({ ids: [secret] })], ['/v1/vaults/batch', json({ ids: secret })],
    ['/v1/graph/check', `{"portfolioRef":${json(secret)}`], ['/v1/graph/check', json({ positions: [{ vaultKey: secret, amountUsd: 1 }], limits: {} })],
    ['/v1/webhooks', json({ url: `http://user:${secret}@127.0.0.1/`, families: ['event.published'] })],
    ['/v1/webhooks', json({ url: `https://user:${secret}@127.0.0.1/`, families: ['event.published'] })],
    ['/v1/webhooks', json({ url: 'https://127.0.0.1:1/', families: [secret] })],
    ['/__origin/keys', json({ digest: secret })], ['/__edge/keys', json({ digest: '0', shown: secret, text: secret })],
    ['/ingest', secret], ['/ingest', json({ kind: 'chain', name: secret })], ['/clock', json({ now: secret })],
  ]) {
    yield { method: target === '/clock' ? 'PUT' : 'POST', target, body, headers: credential, isForwarded: true };
  }
  for (const [target, body] of [
    ['/v1/vaults/batch', { [secret]: 1 }], ['/v1/webhooks', { url: 'https://127.0.0.1:1/', [secret]: 1 }], ['/v1/graph/check', { positions: [], limits: { [secret]: 1 } }], ['/ingest', { kind: secret }], ['/ingest', { kind: 'chain', [secret]: 1 }],
  ]) {
    yield { method: 'POST', target, body: json(body), headers: credential, isForwarded: true, isEchoed: true };
  }
}

/** Requests with a secret in the path. */
export function* inPaths(secret, credential) {
  const value = encodeURIComponent(secret);
  for (const path of [`/v1/vaults/${value}`, `/v1/${value}`, `/${value}`, `/v1/vault/devnet/${value}`, `/v1/assets/1/${value}`, `/v1/graph/decision/${value}`, `/v1/docs/${value}`]) {
    for (const headers of [{}, credential]) yield { target: path, headers, isForwarded: true };
  }
}
