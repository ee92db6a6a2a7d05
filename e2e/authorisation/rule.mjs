// Who may have an operation, said once: from what the route table says of it, and from who asks.

import assert from 'node:assert/strict';
import { expectError } from '../expect.mjs';

/** What becomes of a request, beside success: status, code, and the word that older clients read. */
export const ANSWERED = { status: 200 };
export const REJECTED = { status: 401, code: 'UNAUTHORIZED', legacy: 'invalid_api_key' };
export const WANTED = { status: 401, code: 'UNAUTHORIZED', legacy: 'tier_required' };
export const TOO_LITTLE = { status: 403, code: 'FORBIDDEN' };
export const MISSING = { status: 404, code: 'NOT_FOUND' };

/** Plans, each of which has what the ones before it have; and the least that opens each circle of callers. */
const PLANS = ['data', 'decisioning', 'embedded'];
const LEAST = { key: 'data', data: 'data', decisioning: 'decisioning' };

/** Whether an operation is about one object of one organisation. All of those that there are are subscriptions. */
export const isOwned = ({ path }) => /\/webhooks\/\{/.test(path);

/**
 * What `caller` gets of `operation`, whose object, where it is about one, is `owner`'s.
 *
 * A caller is `{kind, plan, org}`: `keyless`, `stranger` (whose credential does not hold), `token` (for indices) or `key`.
 */
export function verdict(operation, { kind, plan, org }, owner) {
  const access = operation.operation['x-access'];
  assert.ok(['public', 'index', ...Object.keys(LEAST)].includes(access), `nobody said what ${access} means`);
  if (kind === 'stranger') return REJECTED;
  if (kind === 'token') return access === 'index' ? ANSWERED : REJECTED;
  if (access === 'public') return ANSWERED;
  if (access === 'index' || kind === 'keyless') return WANTED;
  if (PLANS.indexOf(plan) < PLANS.indexOf(LEAST[access])) return TOO_LITTLE;
  return isOwned(operation) && org !== owner ? MISSING : ANSWERED;
}

/** An answer as the verdict says. A refusal is nobody's copy, and tells nothing of what is behind it. */
export function expectVerdict(answer, { status, code, legacy }) {
  if (status === 200) return assert.equal(answer.status, 200, answer.text);
  const error = expectError(answer, status, code);
  assert.equal(error.legacy_code, legacy);
  if (status === 401) assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  for (const name of ['etag', 'age', 'x-data-version', 'x-service-tags']) assert.equal(answer.headers.get(name), null, name);
  // What is refused here is refused before a copy is looked for; what is not there, the origin says each time.
  assert.ok([null, 'BYPASS'].includes(answer.headers.get('x-cache')), answer.headers.get('x-cache'));
  if (status !== 404) assert.equal(answer.headers.get('x-cache'), null);
}
