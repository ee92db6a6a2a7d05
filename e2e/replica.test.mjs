// The edge answers the public lists by itself: from rows that it holds, as current as the origin's, and also while the origin is dead.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectStale } from './expect.mjs';
import { isAlive, up } from './private-stack.mjs';
import { uncachedTarget, until } from './stack.mjs';

/** Longer than any answer stays fresh. */
const EXPIRY_SECONDS = 45;
/** Targets of every family of rows. */
const TARGETS = [
  '/v1/vaults?sortBy=name&sortOrder=asc', '/v1/vaults?search=usd', '/v1/vaults?minTvl=1000&riskTier=Core,Prime', '/v1/vaults/scores?limit=5',
  '/v1/chains', '/v1/protocols', '/v1/curators?sortBy=name', '/v1/assets', '/v1/stats', '/v1/markets', '/v1/oracle', '/v1/assets/enriched',
  '/v1/assets/enriched/facets', '/v1/rwa', '/v1/reviewers', '/v1/security-events', '/v1/security-events/losses',
];

let stack;

// Without a test clock, which the edge would not follow.
before(async () => {
  stack = await up('--data', 'demo');
}, { timeout: 400_000 });
after(() => stack?.stop());

const isOfReplica = (answer) => (answer.headers.get('cache-status') ?? '').startsWith('rds-replica; hit, ');
const keyed = () => ({ authorization: `Bearer ${stack.keys.data}` });
const state = (answer) => answer.headers.get('x-cache');
const listRequests = async () => {
  const { text } = await stack.operate('/metrics');
  const lists = text.split('\n').filter((line) => line.startsWith('rds_requests_total{route="VaultList",'));
  return lists.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

describe('a list that nobody has asked for before', () => {
  test('is made from the rows at the edge, once it has them', async () => {
    const answer = await until('an answer from the replica', 30, async () => {
      const seen = await stack.ok(uncachedTarget('/v1/vaults?limit=3'));
      return isOfReplica(seen) && seen;
    });
    assert.equal(state(answer), 'MISS');
    assert.equal(answer.json.data.length, 3);
  });

  test('is of any route that lists public rows', async () => {
    for (const target of TARGETS) {
      const answer = await stack.ok(target, { headers: keyed() });
      assert.ok(isOfReplica(answer), `${target}: ${answer.headers.get('cache-status')}`);
      assert.match(answer.headers.get('etag'), /^W\/"/, target);
      assert.equal(state(await stack.ok(target, { headers: keyed() })), 'HIT', target);
    }
  });

  test('reaches the origin with no request', async () => {
    const before = await listRequests();
    for (let number = 0; number < 60; number += 1) {
      assert.ok(isOfReplica(await stack.ok(uncachedTarget(`/v1/vaults?limit=${1 + (number % 20)}`))));
    }
    assert.equal(await listRequests(), before);
  });

  test('includes every change whose ingest has ended', async () => {
    const [vault] = (await stack.ok(uncachedTarget('/v1/vaults?limit=1'))).json.data;
    for (let round = 1; round <= 5; round += 1) {
      const tvl = 1_000_000 * round + 0.5;
      const line = { kind: 'vault_state', observed_at: new Date().toISOString(), source: 'e2e', vault_id: vault.id, tvl_usd: tvl, base_apr: 0.04 };
      const taken = await stack.operate('/ingest', { method: 'POST', body: JSON.stringify(line) });
      assert.equal(taken.status, 200, taken.text);
      const row = await until('the change is listed', 5, async () => {
        const { json } = await stack.ok(uncachedTarget(`/v1/vaults?protocol=${vault.protocol_id}&limit=100`));
        return json.data.find(({ id, tvl_usd }) => id === vault.id && tvl_usd === tvl);
      });
      assert.equal(row.tvl_usd, tvl);
    }
    const seen = await until('an answer from the replica', 10, async () => {
      const answer = await stack.ok(uncachedTarget('/v1/vaults?limit=3'));
      return isOfReplica(answer) && answer;
    });
    assert.equal(seen.json.data.length, 3);
  });
});

describe('while the origin is dead', () => {
  before(async () => {
    process.kill(stack.pids.origin, 'SIGKILL');
    await until('the process has exited', 10, () => !isAlive(stack.pids.origin));
    await until('the rows are not current any more', EXPIRY_SECONDS, async () => state(await stack.ok(uncachedTarget('/v1/vaults?limit=3'))) === 'STALE-ERROR');
  });

  test('every list is served, with its data version, and marked once it is stale, whether it was asked for before or not', async () => {
    for (const target of TARGETS) {
      const answer = await stack.ok(target, { headers: keyed() });
      // Answers of some routes are fresh for a minute.
      if (!['HIT', 'MISS'].includes(state(answer))) expectStale(answer);
      assert.match(answer.headers.get('x-data-version'), /^\d+$/, target);
    }
    for (let limit = 1; limit < 10; limit += 1) {
      const answer = await stack.get(uncachedTarget(`/v1/vaults?limit=${limit}`));
      expectStale(answer);
      assert.ok(isOfReplica(answer));
      assert.equal(answer.json.data.length, limit);
    }
  });

  test('an invalid request still gets its error, and a conditional one its 304', async () => {
    assert.equal((await stack.get('/v1/vaults?page=0')).status, 400);
    const strict = await stack.get(uncachedTarget('/v1/vaults?chain=nowhere&strict=true'));
    assert.equal(strict.status, 400, strict.text);
    const target = uncachedTarget('/v1/vaults?limit=4');
    const etag = (await stack.ok(target)).headers.get('etag');
    const confirmed = await stack.get(target, { headers: { 'if-none-match': etag } });
    assert.equal(confirmed.status, 304);
    assert.equal((await stack.get(target, { method: 'HEAD' })).text, '');
  });
});
