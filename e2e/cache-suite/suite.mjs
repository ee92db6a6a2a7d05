// Runs `http-cache-tests` against a cache, as its own command line does, and returns the results by kind.

import { Agent } from 'node:http';
import fetch from 'node-fetch';
import { getResults, runTests } from 'http-cache-tests/client/runner.mjs';
import groups from 'http-cache-tests/tests/index.mjs';
import surrogateControl from 'http-cache-tests/tests/surrogate-control.mjs';

// One connection per request: a connection idle during a test's pause may be closed just as it is reused.
const agent = new Agent({ keepAlive: false });

/** Every test, as `{ id, kind, surrogate, browserOnly, outcome }`; the outcome is true, the failure, or undefined if the test was not run. */
export async function run(base) {
  await runTests([...groups, surrogateControl], (url, options) => fetch(url, { ...options, agent }), false, base);
  const results = getResults();
  return [...groups, surrogateControl].flatMap((group) =>
    group.tests.map((test) => ({
      id: test.id,
      kind: test.kind ?? 'required',
      surrogate: group === surrogateControl,
      browserOnly: test.browser_only === true,
      outcome: results[test.id],
    })),
  );
}

/** The number of tests, and of those that passed. */
export const score = (tests) => ({ passed: tests.filter((test) => test.outcome === true).length, of: tests.length });
