// A panic of the Worker, on workerd: everybody gets an answer, and the next request a new instance.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { expectError } from './expect.mjs';
import { probe } from './authorisation/probe.mjs';
import { ended } from './private-stack.mjs';
import { until } from './stack.mjs';

const { folder, port, origin } = JSON.parse(process.env.RDS_CACHE_EDGE ?? 'null') ?? {};
const door = `http://127.0.0.1:${port}`;
/** Requests that the origin has been asked and does not answer. */
const held = [];
let server;
let worker;

before(async () => {
  assert.ok(folder, 'RDS_CACHE_EDGE names no Worker; run this by `cargo xtask test e2e`');
  server = createServer((request, response) => {
    if (request.url.startsWith('/held')) held.push(response);
    else response.end('fine');
  });
  await new Promise((resolve) => server.listen(origin, '127.0.0.1', resolve));
  worker = spawn(process.env.RDS_WORKERD, ['serve', 'worker.capnp'], { cwd: folder, stdio: 'ignore' });
  process.once('exit', () => worker.kill('SIGKILL'));
  await until('the Worker answers', 60, () => probe(door, { target: '/fine' }).then(({ text }) => text === 'fine', () => false));
});

after(async () => {
  await ended(worker, 'SIGKILL');
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('who waits while another request panics is told, and so is the one that did; the next ones are answered', async () => {
  for (let round = 1; round <= 3; round += 1) {
    const waiting = [1, 2, 3].map((number) => probe(door, { target: `/held/${round}/${number}` }));
    await until('they wait for the origin', 30, () => held.length === 3 * round);
    const answers = await Promise.all([probe(door, { target: '/__panic' }), ...waiting]);
    for (const answer of answers) expectError(answer, 500, 'INTERNAL_ERROR');
    assert.equal(new Set(answers.map(({ json }) => json.error.request_id)).size, 4, 'everybody has an id of their own');
    assert.ok(answers.every(({ text }) => !text.includes('panic requested by the path')), 'and nobody the cause');
    const { status, text } = await probe(door, { target: `/after/${round}` });
    assert.deepEqual([status, text], [200, 'fine']);
  }
});
