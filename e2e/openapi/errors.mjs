// Errors that a client can cause, each with a request that causes it: used for the document's examples and by tests.

import { randomUUID } from 'node:crypto';
import { bearer, mint, verb } from '../operator.mjs';
import { OwnBasket } from '../own-basket.mjs';
import { newCaller } from '../stack.mjs';

/** A valid address of no vault. */
const UNKNOWN_ADDRESS = `0x${'0'.repeat(40)}`;

/** Error code to a request that causes it. Codes that only a failure of the service causes are not included. */
export const ERROR_REQUESTS = {
  INVALID_PARAMETER: (stack) => stack.get('/v1/vaults?limit=none&minRiskScore=11'),
  MISSING_PARAMETER: (stack, headers) => stack.get('/v1/graph/look-through', { headers }),
  INVALID_ADDRESS: (stack) => stack.get('/v1/vault/devnet/0x12'),
  ADDRESS_NAMESPACE_MISMATCH: (stack) => stack.get(`/v1/vault/devnet/${'1'.repeat(32)}`),
  INVALID_CURSOR: (stack, headers) => stack.get('/v1/vaults/changes?since=no-cursor', { headers }),
  INVALID_BODY: (stack, headers) => stack.post('/v1/graph/check', { portfolioRef: 'treasury-1', positions: [{ amountUsd: -1 }] }, headers),
  TOO_MANY_ITEMS: (stack) => stack.post('/v1/vaults/batch', { addresses: Array(101).fill(UNKNOWN_ADDRESS) }),
  WEBHOOK_URL_REJECTED: (stack, headers) => stack.post('/v1/webhooks', { url: 'http://localhost/risk', families: ['event.published'] }, headers),
  UNAUTHORIZED: (stack) => stack.get('/v1/me', { headers: bearer(`pk_live_${'0'.repeat(32)}`) }),
  FORBIDDEN: (stack) => stack.get('/v1/graph/look-through?vaults=1', { headers: bearer(stack.keys.data) }),
  NOT_FOUND: (stack) => stack.get(`/v1/vault/devnet/${UNKNOWN_ADDRESS}`),
  CONFLICT: async (stack, headers) => {
    const named = { ...headers, 'idempotency-key': randomUUID() };
    const create = () => stack.post('/v1/webhooks', { url: 'https://127.0.0.1:8443/risk', families: ['event.published'] }, named);
    const { id } = (await create()).json.data;
    await verb(stack, 'webhooks', 'rotate', String(id), '--overlap', '1');
    const answer = await create();
    await stack.get(`/v1/webhooks/${id}`, { method: 'DELETE', headers });
    return answer;
  },
  IDEMPOTENCY_KEY_REUSED: async (stack, headers) => {
    const named = { ...headers, 'idempotency-key': randomUUID() };
    const create = (path) => stack.post('/v1/webhooks', { url: `https://127.0.0.1:8443${path}`, families: ['event.published'] }, named);
    const made = await create('/one');
    const answer = await create('/two');
    await stack.get(`/v1/webhooks/${made.json.data.id}`, { method: 'DELETE', headers });
    return answer;
  },
  VERSION_RETIRED: async (stack, headers, basketId) => {
    const basket = await OwnBasket.create(stack, basketId);
    await basket.rebalance();
    await basket.say('deprecate', 1, 2);
    await basket.say('retire', 1, 2);
    return stack.get(basket.path(`/version/${basket.version(1)}`));
  },
  PAYLOAD_TOO_LARGE: (stack) => stack.post('/v1/vaults/batch', { ids: ['x'.repeat(70_000)] }),
  URI_TOO_LONG: (stack) => stack.get(`/v1/vaults?search=${'x'.repeat(9_000)}`),
  UNSUPPORTED_MEDIA_TYPE: (stack) => stack.post('/v1/vaults/batch', 'ids=1', { 'content-type': 'application/x-www-form-urlencoded' }),
  RATE_LIMITED: async (stack) => {
    const headers = { 'cf-connecting-ip': newCaller() };
    // 25 requests exceed the limit even if a rate-limit window ends between them.
    for (let sent = 0; sent < 25; sent += 1) {
      const answer = await stack.get('/v1/chains', { headers });
      if (answer.status === 429) return answer;
    }
    throw new Error('none of 25 requests got status 429');
  },
};

/** The response bodies by `error.<CODE>`. Retires a version of a basket, so a given `basketId` must be new. */
export async function errors(stack, basketId) {
  const { headers } = await mint(stack, { plan: 'decisioning', rpm: 60_000 });
  const found = new Map();
  for (const [code, provoke] of Object.entries(ERROR_REQUESTS)) {
    const { status, json } = await provoke(stack, headers, basketId);
    if (json?.error?.code !== code) throw new Error(`expected ${code}, got ${status} ${JSON.stringify(json)}`);
    found.set(`error.${code}`, json);
  }
  return found;
}
