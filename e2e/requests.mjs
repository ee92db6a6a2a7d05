// Requests to one stack with one key.

import assert from 'node:assert/strict';

/**
 * @param {() => { stack: object, key: object }} current called on each request, so that both may be created later
 * @returns `ask` sends any request; `done` sends one that must succeed and resolves to its `data`
 */
export function requests(current) {
  const ask = (method, target, { body, headers } = {}) => {
    const { stack, key } = current();
    return stack.get(target, {
      method,
      body: typeof body === 'string' ? body : body && JSON.stringify(body),
      headers: { ...key.headers, ...(body && { 'content-type': 'application/json' }), ...headers },
    });
  };
  const done = async (method, target, options) => {
    const answer = await ask(method, target, options);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    return answer.json.data;
  };
  return { ask, done };
}
