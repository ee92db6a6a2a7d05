// A panic of the Worker in workerd: every pending request gets a 500, and the next request gets a new instance.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { expectError } from './expect.mjs';
import { probe } from './authorisation/probe.mjs';
import { ended } from './private-stack.mjs';
import { until } from './stack.mjs';

const { folder, port, origin } = JSON.parse(process.env.RDS_CACHE_EDGE ?? 'null') ?? {};
const edge = `http://127.0.0.1:${port}`;
/** Responses to requests that reached the origin and are left unanswered. */
const held = [];
let server;
let worker;

before(async () => {
  assert.ok(folder, 'RDS_CACHE_EDGE is not set; run this test with `cargo xtask test e2e`');
  server = createServer((request, response) => {
    if (request.url.startsWith('/held')) held.push(response);
    else response.end('fine');
  });
  await new Promise((resolve) => server.listen(origin, '127.0.0.1', resolve));
  worker = spawn(process.env.RDS_WORKERD, ['serve', 'worker.capnp'], { cwd: folder, stdio: 'ignore' });
  process.once('exit', () => worker.kill('SIGKILL'));
  await until('the Worker answers', 60, () => probe(edge, { target: '/fine' }).then(({ text }) => text === 'fine', () => false));
});

after(async () => {
  await ended(worker, 'SIGKILL');
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('a panic ends its request and all waiting ones with a 500, and later requests succeed', async () => {
  for (let round = 1; round <= 3; round += 1) {
    const waiting = [1, 2, 3].map((number) => probe(edge, { target: `/held/${round}/${number}` }));
    await until('the requests wait for the origin', 30, () => held.length === 3 * round);
    const answers = await Promise.all([probe(edge, { target: '/__panic' }), ...waiting]);
    for (const answer of answers) expectError(answer, 500, 'INTERNAL_ERROR');
    assert.equal(new Set(answers.map(({ json }) => json.error.request_id)).size, 4, 'every response has its own request id');
    assert.ok(answers.every(({ text }) => !text.includes('panic requested by the path')), 'no response shows the cause');
    const { status, text } = await probe(edge, { target: `/after/${round}` });
    assert.deepEqual([status, text], [200, 'fine']);
  }
});
