// What each listener answers to which caller, and that it reveals nothing else.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectError, expectShape } from './expect.mjs';
import { Health, Ready } from './interface-fields.mjs';
import { ANONYMOUS, allowance, expectCharged, expectRateLimited, expectUnmetered, windowWithSecondsLeft } from './metering.mjs';
import { bearer, mint, revoke } from './operator.mjs';
import { OTHER_ORIGIN, request, sharedStack, uncachedTarget } from './stack.mjs';

const stack = sharedStack();

describe("the origin's edge listener", () => {
  test('reveals nothing without an edge assertion, not even which paths exist', async () => {
    const answers = [];
    for (const [target, method] of [
      ['/v1/vaults', 'GET'], ['/v1/nope', 'GET'], ['/v1/vaults', 'DELETE'], ['/v1/health', 'GET'], ['/v1/vaults?page=0', 'GET'],
      ['/v1/me', 'GET'], ['/__edge/keys', 'POST'], ['/__edge/usage', 'POST'], ['/__edge/usage', 'GET'],
    ]) {
      const answer = await request(stack.origin_edge, target, { method });
      const error = expectError(answer, 401, 'UNAUTHORIZED');
      answers.push(error.message);
      assert.equal(answer.headers.get('etag'), null);
      assert.equal(answer.headers.get('allow'), null);
    }
    assert.equal(new Set(answers).size, 1, 'every refusal has the same message');
  });

  test('refuses a forged edge assertion', async () => {
    const now = Math.floor(Date.now() / 1000);
    for (const assertion of ['', 'v1', `v1;dev;${now};${'0'.repeat(32)};${'0'.repeat(64)}`, `v2;dev;${now};${'a'.repeat(32)};${'b'.repeat(64)}`]) {
      const headers = { 'x-service-assertion': assertion, 'x-service-principal': '{"kind":"anonymous"}' };
      expectError(await request(stack.origin_edge, '/v1/vaults', { headers }), 401, 'UNAUTHORIZED');
    }
  });
});

describe("the edge's route for the origin's key updates", () => {
  test('answers other callers like an unknown route', async () => {
    const update = JSON.stringify({ digest: '0'.repeat(64), record: { id: 1, org_id: 1, plan: 'embedded', rpm: 1_000_000, shared: false, active: true, version: 1 } });
    const now = Math.floor(Date.now() / 1000);
    const unknown = await stack.post('/v1/nope', update);
    for (const headers of [
      {}, bearer(stack.keys.embedded), bearer(stack.admin_token),
      { 'x-service-assertion': `v1;k1;${now};${'0'.repeat(32)};${'0'.repeat(64)}`, 'x-service-principal': '{"kind":"origin"}' },
    ]) {
      const answer = await stack.post('/__origin/keys', update, headers);
      const error = expectError(answer, 404, 'NOT_FOUND');
      assert.equal(error.message, unknown.json.error.message);
      expectUnmetered(answer);
    }
    for (const method of ['GET', 'DELETE']) expectError(await stack.get('/__origin/keys', { method }), 404, 'NOT_FOUND');
  });
});

describe('the relay listener', () => {
  test('answers health and readiness', async () => {
    expectShape(await request(stack.relay, '/v1/health'), Health);
    expectShape(await request(stack.relay, '/ready'), Ready);
  });

  test('checks keys itself, and counts an invalid one against the anonymous limit', async () => {
    const health = (credential) => request(stack.relay, '/v1/health', { headers: bearer(credential) });
    const [key, revoked] = [await mint(stack), await mint(stack)];
    expectShape(await health(key.key), Health);
    expectShape(await health(revoked.key), Health);
    await revoke(stack, revoked);
    const end = await windowWithSecondsLeft();
    // Other requests from this address may have used part of the limit in this minute, so the count starts at the first response's value.
    let left;
    do {
      const answer = await health(left % 2 ? revoked.key : 'nonsense');
      assert.equal(expectError(answer, 401, 'UNAUTHORIZED').legacy_code, 'invalid_api_key');
      left = left === undefined ? allowance(answer).remaining : left - 1;
      expectCharged(answer, { limit: ANONYMOUS, remaining: left, end });
    } while (left > 0);
    expectRateLimited(await health(revoked.key), { limit: ANONYMOUS, end });
    expectShape(await health(key.key), Health);
  });

  test('has no other route, in particular no admin route', async () => {
    for (const target of ['/v1/vaults', '/v1/chains', '/metrics', '/clock', '/ingest']) {
      expectError(await request(stack.relay, target), 404, 'NOT_FOUND');
    }
  });
});

describe('the admin listener', () => {
  for (const [target, method] of [['/metrics', 'GET'], ['/clock', 'GET'], ['/clock', 'PUT'], ['/ingest', 'POST']]) {
    test(`${method} ${target} needs the token`, async () => {
      for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: `Basic ${stack.admin_token}` }]) {
        expectError(await request(stack.admin, target, { method, headers }), 401, 'UNAUTHORIZED');
      }
    });
  }

  test('cannot be reached through the edge', async () => {
    for (const target of ['/metrics', '/clock', '/ingest']) {
      expectError(await stack.get(target, { headers: { authorization: `Bearer ${stack.admin_token}` } }), 404, 'NOT_FOUND');
    }
  });

  test('serves metrics that count the responses of each route', async () => {
    await stack.ok(uncachedTarget('/v1/vaults'));
    const answer = await stack.operate('/metrics');
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type'), /^text\/plain/);
    assert.match(answer.text, /^# TYPE \S+ counter$/m);
    assert.match(answer.text, /VaultList.* [1-9]\d*$/m);
    assert.ok(!answer.text.includes(stack.admin_token));
  });
});

describe('the test clock', () => {
  test('changes the freshness of rows', async () => {
    const freshness = async () => (await stack.ok(uncachedTarget('/v1/vaults?limit=1'))).json.data[0].freshness_seconds;
    const earlier = await freshness();
    const started = Date.parse((await stack.operate('/clock')).json.now);
    const moved = Date.parse((await stack.advance(120)).now);
    assert.ok(moved - started >= 120_000);
    const later = await freshness();
    assert.ok(later >= earlier + 120 && later < earlier + 180, `${earlier} then ${later}`);
  });

  test('refuses an invalid instant', async () => {
    for (const body of ['{}', '{"now":"yesterday"}', '{"advance_seconds":"1"}', 'x']) {
      const answer = await stack.operate('/clock', { method: 'PUT', body, headers: { 'content-type': 'application/json' } });
      assert.equal(answer.status, 400, answer.text);
    }
  });
});

describe('pages of other sites', () => {
  test('get no access, by response or by preflight', async () => {
    const answer = await stack.ok('/v1/chains', { headers: { origin: OTHER_ORIGIN } });
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
    assert.match(answer.headers.get('vary'), /origin/i);
    const headers = { origin: OTHER_ORIGIN, 'access-control-request-method': 'GET' };
    const preflight = await stack.get('/v1/chains', { method: 'OPTIONS', headers });
    assert.equal(preflight.headers.get('access-control-allow-origin'), null);
  });
});
