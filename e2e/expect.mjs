// Expectations that hold for responses of every route.

import assert from 'node:assert/strict';
import { faults } from './shape.mjs';

const REQUEST_ID = /^[0-9a-f]{32}$/;

/** Expects a success of this shape, with the headers that every JSON response has. */
export function expectShape(answer, shape) {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/);
  assert.match(answer.headers.get('x-request-id') ?? '', REQUEST_ID);
  assert.deepEqual(faults(shape, answer.json), []);
}

/** Expects an uncacheable error in the envelope; returns its body. */
export function expectError(answer, status, code) {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/);
  assert.match(answer.headers.get('cache-control') ?? '', /\bno-store\b/);
  assert.deepEqual(Object.keys(answer.json), ['error']);
  const { error } = answer.json;
  assert.equal(error.code, code, answer.text);
  assert.ok(error.message.length > 0);
  assert.match(error.request_id, REQUEST_ID);
  assert.equal(error.request_id, answer.headers.get('x-request-id'));
  const known = ['code', 'message', 'request_id', 'legacy_code', 'details', 'successor'];
  assert.deepEqual(Object.keys(error).filter((name) => !known.includes(name)), []);
  return error;
}

/** Expects an error with `Retry-After`; returns its body. */
export function expectRetry(answer, status, code) {
  const error = expectError(answer, status, code);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  return error;
}

/** Expects a stale cached response, served because the origin failed. */
export function expectStale(answer) {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('x-cache'), 'STALE-ERROR');
  assert.match(answer.headers.get('warning') ?? '', /^111 /);
  assert.match(answer.headers.get('age') ?? '', /^\d+$/);
  assert.match(answer.headers.get('cache-status') ?? '', /\S/);
}
