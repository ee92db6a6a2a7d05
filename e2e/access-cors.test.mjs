// Cross-origin access: the service's own pages can read every response, errors included; pages of other origins can read none.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ANONYMOUS, FIRST_PARTY, expectCharged, expectRateLimited, expectUnmetered, windowWithSecondsLeft, times } from './metering.mjs';
import { bearer } from './operator.mjs';
import { ALLOWED_ORIGIN, OTHER_ORIGIN, newCaller, sharedStack, uncachedTarget } from './stack.mjs';

const stack = sharedStack();
const STRANGE = bearer('pk_live_22222222222222222222222222222222');

/** A request for every status that a page may get, except 429. */
const ANSWERS = [
  [200, '/v1/chains', {}],
  [200, '/v1/me', { headers: bearer(stack.keys.data) }],
  [200, '/ready', {}],
  [304, '/v1/chains', { headers: { 'if-none-match': '*' } }],
  [400, '/v1/vaults?page=0', {}],
  [401, '/v1/vaults/scores', {}],
  [401, '/v1/chains', { headers: STRANGE }],
  [403, '/v1/vaults?page=3&limit=100', {}],
  [404, '/v1/vaults/nobody', {}],
  [404, '/v1/nope', {}],
  [405, '/v1/chains', { method: 'DELETE' }],
  [414, `/v1/vaults?x=${'y'.repeat(8300)}`, {}],
];

const asPage = (origin, target, options = {}) => stack.get(target, { ...options, headers: { ...options.headers, ...(origin === undefined ? {} : { origin }) } });
const grants = ({ headers }) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));
const list = (answer, name) => answer.headers.get(name).toLowerCase().split(/\s*,\s*/);

function expectGrant(answer) {
  assert.equal(answer.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN);
  assert.equal(answer.headers.get('access-control-allow-credentials'), null);
  assert.match(answer.headers.get('vary'), /\borigin\b/i);
}

describe('a page of the service', () => {
  for (const [status, target, options] of ANSWERS) {
    test(`reads ${status} of ${options.method ?? 'GET'} ${target.slice(0, 40)}, with its limits`, async () => {
      const answer = await asPage(ALLOWED_ORIGIN, target, options);
      assert.equal(answer.status, status, answer.text);
      expectGrant(answer);
      const exposed = list(answer, 'access-control-expose-headers');
      for (const name of answer.headers.keys()) {
        if (name.startsWith('x-ratelimit-') || ['etag', 'age', 'retry-after', 'x-cache', 'x-request-id', 'warning'].includes(name)) {
          assert.ok(exposed.includes(name), name);
        }
      }
      assert.ok(exposed.includes('retry-after') && exposed.includes('x-ratelimit-remaining'));
    });
  }

  test('may send every header that the service reads', async () => {
    const answer = await asPage(ALLOWED_ORIGIN, '/v1/me', { method: 'OPTIONS', headers: { 'access-control-request-method': 'GET' } });
    assert.equal(answer.status, 204);
    expectGrant(answer);
    const allowed = list(answer, 'access-control-allow-headers');
    for (const name of ['authorization', 'content-type', 'if-none-match', 'x-service-subclient']) assert.ok(allowed.includes(name), name);
    const methods = list(answer, 'access-control-allow-methods');
    for (const name of ['get', 'post']) assert.ok(methods.includes(name), name);
    assert.match(answer.headers.get('access-control-max-age'), /^[1-9]\d*$/);
  });

  test('is not charged for a preflight, before and after its allowance is used up', async () => {
    const caller = { 'cf-connecting-ip': newCaller() };
    const preflightHeaders = { ...caller, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };
    const preflight = () => asPage(ALLOWED_ORIGIN, '/v1/chains', { method: 'OPTIONS', headers: preflightHeaders });
    const end = await windowWithSecondsLeft(15);
    for (const answer of await times(15, preflight)) expectUnmetered(answer);
    const reads = await times(FIRST_PARTY, () => asPage(ALLOWED_ORIGIN, '/v1/chains', { headers: caller }));
    for (const [index, answer] of reads.entries()) expectCharged(answer, { limit: FIRST_PARTY, remaining: FIRST_PARTY - 1 - index, end });
    const refused = await asPage(ALLOWED_ORIGIN, '/v1/chains', { headers: caller });
    expectRateLimited(refused, { limit: FIRST_PARTY, end });
    expectGrant(refused);
    const answer = await preflight();
    assert.equal(answer.status, 204);
    expectUnmetered(answer);
    expectGrant(answer);
  });
});

for (const origin of [OTHER_ORIGIN, 'null', `${ALLOWED_ORIGIN}.evil.example`, 'https://localhost:3000', 'http://localhost', undefined]) {
  describe(origin === undefined ? 'a request without an Origin header' : `a page of ${origin}`, () => {
    test('gets no CORS headers, whatever the response', async () => {
      for (const [status, target, options] of ANSWERS) {
        const answer = await asPage(origin, target, options);
        assert.equal(answer.status, status, answer.text);
        assert.deepEqual(grants(answer), [], `${status} ${target}`);
        assert.match(answer.headers.get('vary'), /\borigin\b/i);
      }
      const preflight = await asPage(origin, '/v1/chains', { method: 'OPTIONS', headers: { 'access-control-request-method': 'GET' } });
      assert.deepEqual(grants(preflight), []);
    });

    test('has the anonymous allowance', async () => {
      const end = await windowWithSecondsLeft();
      expectCharged(await asPage(origin, uncachedTarget('/v1/vaults')), { limit: ANONYMOUS, remaining: ANONYMOUS - 1, end });
    });
  });
}
