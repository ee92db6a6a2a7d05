// What an answer says about the allowance that it was charged to, and the minute in which it counts.

import assert from 'node:assert/strict';
import { expectRetry } from './expect.mjs';
import { until } from './stack.mjs';

/** Length of every window; windows begin with the minutes of the clock. */
const WINDOW_SECONDS = 60;
const DAY_SECONDS = 86_400;
/** Requests a minute of an address: without a key, of a page of the service, for health. */
export const ANONYMOUS = 10;
export const FIRST_PARTY = 60;
export const HEALTH = 60;
/** Requests a minute of a key without a contract, by plan. */
export const PLANS = { data: 300, decisioning: 600, embedded: 1200 };

/** Unix time at which the running window ends. */
export const windowEndSeconds = () => (Math.floor(Date.now() / 1000 / WINDOW_SECONDS) + 1) * WINDOW_SECONDS;

/** Waits for a window with so many seconds left in it, for a story that must not straddle two. Gives its end. */
export const roomyWindow = (seconds = 10) =>
  until('a window with room', WINDOW_SECONDS + 1, () => windowEndSeconds() - Date.now() / 1000 >= seconds && windowEndSeconds());

/** Waits until the window that ends at `end` is over. */
export const windowOver = (end) => until('the window is over', WINDOW_SECONDS + 5, () => Date.now() / 1000 > end + 0.1);

/** Waits for a UTC day with so many seconds left in it, for a story about what is counted by day. */
export const lastingDay = (seconds) =>
  until('a day that lasts', seconds + 5, () => DAY_SECONDS - ((Date.now() / 1000) % DAY_SECONDS) > seconds);

/** The allowance that an answer tells of, as numbers; null where it tells of none. */
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

/** An answer that was charged to a budget of `limit`, of which `remaining` is left in the window that ends at `end`. */
export function expectMetered(answer, { limit, remaining, end, subclient = null }) {
  assert.deepEqual(
    allowance(answer),
    {
      limit, remaining, reset: end, window: `${WINDOW_SECONDS}s`,
      subclientLimit: subclient && subclient.limit, subclientRemaining: subclient && subclient.remaining,
    },
    `${answer.status} ${answer.text.slice(0, 200)}`,
  );
}

/** An answer that was charged to nobody. */
export function expectUnmetered(answer) {
  const told = allowance(answer);
  assert.deepEqual(Object.values(told).filter((value) => value !== null), [], JSON.stringify(told));
}

/** A refusal because a budget of `limit` is used up, that says when the whole of it returns. */
export function expectSpent(answer, { limit, remaining = 0, end, subclient }) {
  const error = expectRetry(answer, 429, 'RATE_LIMITED');
  expectMetered(answer, { limit, remaining, end, subclient });
  const wait = Number(answer.headers.get('retry-after'));
  assert.ok(Math.abs(wait - (end - Date.now() / 1000)) <= 2, `Retry-After ${wait}, and the window ends at ${end}`);
  return error;
}

/** Asks `count` times, one after the other, and gives the answers. */
export async function times(count, ask) {
  const answers = [];
  for (let n = 0; n < count; n += 1) answers.push(await ask(n));
  return answers;
}
