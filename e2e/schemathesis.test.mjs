// schemathesis against the running service: requests made up from the document, with every check that it has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, unable } from './openapi/schemathesis.mjs';
import { sharedStack } from './stack.mjs';

test('whatever is made up from the document is answered as it says', { skip: unable() ?? false, timeout: 1_200_000 }, async () => {
  // The same requests in every run, so that a failure is one of the change at hand.
  const { code, said } = await run(sharedStack(), ['--seed', '1', '--generation-deterministic']);
  assert.equal(code, 0, said.slice(said.indexOf('FAILURES')));
});
