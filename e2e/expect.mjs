// What every answer has to keep, whichever route gives it.

import assert from 'node:assert/strict';
import { faults } from './shape.mjs';

const REQUEST_ID = /^[0-9a-f]{32}$/;

/** A success of this shape, with the headers that every JSON answer carries. */
export function expectShape(answer, shape) {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/);
  assert.match(answer.headers.get('x-request-id') ?? '', REQUEST_ID);
  assert.deepEqual(faults(shape, answer.json), []);
}

/** An error in the envelope, which nobody may keep. Gives the error's body on. */
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

/** An error that says when to come back. */
export function expectRetry(answer, status, code) {
  const error = expectError(answer, status, code);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  return error;
}

/** The last good copy, served because a fresh read failed. */
export function expectStale(answer) {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('x-cache'), 'STALE-ERROR');
  assert.match(answer.headers.get('warning') ?? '', /^111 /);
  assert.match(answer.headers.get('age') ?? '', /^\d+$/);
  assert.match(answer.headers.get('cache-status') ?? '', /\S/);
}
