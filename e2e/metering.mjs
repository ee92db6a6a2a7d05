// The rate-limit headers of a response, and the one-minute windows of the limits.

import assert from 'node:assert/strict';
import { expectRetry } from './expect.mjs';
import { until } from './stack.mjs';

/** Length of every window; windows are aligned to clock minutes. */
const WINDOW_SECONDS = 60;
const DAY_SECONDS = 86_400;
/** Requests per minute and address: without a key, from a page of the service, and for health. */
export const ANONYMOUS = 10;
export const FIRST_PARTY = 60;
export const HEALTH = 60;
/** Requests per minute of a key without a contracted rate, by plan. */
export const PLANS = { data: 300, decisioning: 600, embedded: 1200 };

/** Unix time at which the current window ends. */
export const windowEndSeconds = () => (Math.floor(Date.now() / 1000 / WINDOW_SECONDS) + 1) * WINDOW_SECONDS;

/** Waits until at least `seconds` are left in the current window, for requests that must share one; returns the window's end. */
export const windowWithSecondsLeft = (seconds = 10) =>
  until('enough time is left in the window', WINDOW_SECONDS + 1, () => windowEndSeconds() - Date.now() / 1000 >= seconds && windowEndSeconds());

/** Waits until the window that ends at `end` (Unix time) is over. */
export const windowOver = (end) => until('the window is over', WINDOW_SECONDS + 5, () => Date.now() / 1000 > end + 0.1);

/** Waits until at least `seconds` are left in the current UTC day, for tests of daily counts. */
export const dayWithSecondsLeft = (seconds) =>
  until('enough time is left in the day', seconds + 5, () => DAY_SECONDS - ((Date.now() / 1000) % DAY_SECONDS) > seconds);

/** The rate-limit headers of a response, as numbers; null where a header is missing. */
export function allowance({ headers }) {
  const number = (name) => (headers.has(name) ? Number(headers.get(name)) : null);
  return {
    limit: number('x-ratelimit-limit'),
    remaining: number('x-ratelimit-remaining'),
    reset: number('x-ratelimit-reset'),
    window: headers.get('x-ratelimit-window'),
    subclientLimit: number('x-ratelimit-subclient-limit'),
    subclientRemaining: number('x-ratelimit-subclient-remaining'),
  };
}

/** Expects that a request was charged to an allowance of `limit`, with `remaining` left in the window that ends at `end`. */
export function expectCharged(answer, { limit, remaining, end, subclient = null }) {
  assert.deepEqual(
    allowance(answer),
    {
      limit, remaining, reset: end, window: `${WINDOW_SECONDS}s`,
      subclientLimit: subclient && subclient.limit, subclientRemaining: subclient && subclient.remaining,
    },
    `${answer.status} ${answer.text.slice(0, 200)}`,
  );
}

/** Expects that a request was not charged to any allowance. */
export function expectUnmetered(answer) {
  const reported = allowance(answer);
  assert.deepEqual(Object.values(reported).filter((value) => value !== null), [], JSON.stringify(reported));
}

/** Expects a refusal because an allowance of `limit` is used up, with `Retry-After` at the end of the window. */
export function expectRateLimited(answer, { limit, remaining = 0, end, subclient }) {
  const error = expectRetry(answer, 429, 'RATE_LIMITED');
  expectCharged(answer, { limit, remaining, end, subclient });
  const wait = Number(answer.headers.get('retry-after'));
  assert.ok(Math.abs(wait - (end - Date.now() / 1000)) <= 2, `Retry-After ${wait}, but the window ends at ${end}`);
  return error;
}

/** Calls `ask` `count` times in sequence and returns the responses. */
export async function times(count, ask) {
  const answers = [];
  for (let n = 0; n < count; n += 1) answers.push(await ask(n));
  return answers;
}
