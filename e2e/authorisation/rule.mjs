// The authorisation rule: the expected response from an operation's `x-access` and the caller.

import assert from 'node:assert/strict';
import { expectError } from '../expect.mjs';
import { OTHER_ORIGIN } from '../stack.mjs';

/** Possible outcomes: status, error code, and the `legacy_code` for older clients. */
export const ANSWERED = { status: 200 };
export const REJECTED = { status: 401, code: 'UNAUTHORIZED', legacy: 'invalid_api_key' };
export const WANTED = { status: 401, code: 'UNAUTHORIZED', legacy: 'tier_required' };
export const TOO_LITTLE = { status: 403, code: 'FORBIDDEN' };
export const MISSING = { status: 404, code: 'NOT_FOUND' };

/** Plans in ascending order, each including the ones before it, and the lowest plan for each access class. */
const PLANS = ['data', 'decisioning', 'embedded'];
const LEAST = { key: 'data', data: 'data', decisioning: 'decisioning' };

/** Whether an operation is about one object of one organisation. All such objects are webhook subscriptions. */
export const isOwned = ({ path }) => /\/webhooks\/\{/.test(path);

/** Whether an operation is closed to the pages of strangers, as the Model Context Protocol demands. */
const isClosedToPages = ({ id }) => id === 'Mcp';

/** Whether the edge answers an operation by itself, and the origin's edge listener does not know it. */
export const isOfEdgeAlone = ({ id }) => id === 'Mcp';

/**
 * The expected outcome of `operation` for `caller`, where an owned object belongs to `owner`.
 *
 * A caller is `{kind, plan, org, headers}`; the kind is `keyless`, `stranger` (an invalid credential), `token` (for indices) or `key`.
 */
export function verdict(operation, { kind, plan, org, headers }, owner) {
  const access = operation.operation['x-access'];
  assert.ok(['public', 'index', ...Object.keys(LEAST)].includes(access), `unknown access class ${access}`);
  if (kind === 'stranger') return REJECTED;
  if (isClosedToPages(operation) && headers.origin === OTHER_ORIGIN) return TOO_LITTLE;
  if (kind === 'token') return access === 'index' ? ANSWERED : REJECTED;
  if (access === 'public') return ANSWERED;
  if (access === 'index' || kind === 'keyless') return WANTED;
  if (PLANS.indexOf(plan) < PLANS.indexOf(LEAST[access])) return TOO_LITTLE;
  return isOwned(operation) && org !== owner ? MISSING : ANSWERED;
}

/** Expects the given outcome. A refusal must not be cacheable and must not reveal anything of the resource. */
export function expectVerdict(answer, { status, code, legacy }) {
  if (status === 200) return assert.equal(answer.status, 200, answer.text);
  const error = expectError(answer, status, code);
  assert.equal(error.legacy_code, legacy);
  if (status === 401) assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  for (const name of ['etag', 'age', 'x-data-version', 'x-service-tags']) assert.equal(answer.headers.get(name), null, name);
  // The edge refuses before any cache lookup; a 404 comes from the origin each time.
  assert.ok([null, 'BYPASS'].includes(answer.headers.get('x-cache')), answer.headers.get('x-cache'));
  if (status !== 404) assert.equal(answer.headers.get('x-cache'), null);
}
