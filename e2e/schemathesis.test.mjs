// Schemathesis against the running service: requests generated from the document, with all checks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, unable } from './openapi/schemathesis.mjs';
import { sharedStack } from './stack.mjs';

test('every generated request is answered as the document says', { skip: unable() ?? false, timeout: 1_200_000 }, async () => {
  // The same requests in every run, so that a new failure is due to a change.
  const { code, said } = await run(sharedStack(), ['--seed', '1', '--generation-deterministic']);
  assert.equal(code, 0, said.slice(Math.max(0, said.search(/ERRORS|FAILURES/))));
});
