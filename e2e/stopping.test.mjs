// How an origin starts without its database, how it stops (it accepts connections until its load balancer has seen it not ready), and what
// Ctrl-C of `up` leaves behind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { ended, freePorts, isAlive, originEnvironment, serveBeside, up, xtask } from './private-stack.mjs';
import { until } from './stack.mjs';

let stack;

before(async () => {
  stack = await up('--data', 'demo', '--edge', 'workerd');
});

after(async () => {
  await stack?.stop();
});

/** Starts another origin of the stack on its own ports, with some variables changed. */
async function another(changed = {}) {
  const { child: process, relay } = await serveBeside(stack, changed);
  const status = async (target) => (await fetch(`http://${relay}${target}`, { headers: { connection: 'close' } })).status;
  return { process, relay, status };
}

/** Opens an event stream; `rest` resolves to its whole text when it ends. */
async function openStream(base) {
  const headers = { authorization: `Bearer ${stack.keys.data}` };
  const answer = await fetch(new URL('/v1/events/stream', base), { headers, signal: AbortSignal.timeout(60_000) });
  assert.equal(answer.status, 200);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const first = await reader.read();
  const rest = (async () => {
    let text = first.value;
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    return text;
  })();
  return { rest };
}

describe('an origin that is told to stop', () => {
  test('is not ready at once, but serves new connections until the lame-duck time or a second signal', async () => {
    const { process: origin, relay, status } = await another({ RDS_LAME_DUCK_SECONDS: '300' });
    await until('the origin is ready', 60, async () => (await status('/ready')) === 200);
    const { rest } = await openStream(`http://${relay}`);
    origin.kill('SIGTERM');
    await until('the origin is not ready any more', 10, async () => (await status('/ready')) === 503);
    const late = await openStream(`http://${relay}`);
    assert.equal(origin.exitCode, null);
    // The second signal ends the lame-duck time.
    assert.equal(await ended(origin, 'SIGTERM'), 0);
    for (const stream of [rest, late.rest]) assert.match(await stream, /event: draining\nretry: 1000\ndata: \{"retry":1000\}/);
  });

  test('waits five seconds by default', async () => {
    const environment = originEnvironment(stack);
    delete environment.RDS_LAME_DUCK_SECONDS;
    const first = await freePorts(3);
    const [edge, relay, admin] = [0, 1, 2].map((offset) => `127.0.0.1:${first + offset}`);
    const addresses = { RDS_EDGE_ADDR: edge, RDS_RELAY_ADDR: relay, RDS_ADMIN_ADDR: admin };
    const origin = spawn(stack.origin_bin, ['serve'], { env: { ...environment, ...addresses }, stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    origin.stderr.on('data', (chunk) => (log += chunk));
    await until('the origin is ready', 60, async () => (await fetch(`http://${relay}/ready`)).status === 200);
    origin.kill('SIGTERM');
    await until('the log gives the lame-duck time', 10, () => /"seconds":5[,}]/.test(log));
    assert.equal(await ended(origin, 'SIGTERM'), 0);
  });
});

describe('an origin whose database does not exist yet', () => {
  test('is not ready, ends when it finds no schema, and serves after the migration', async () => {
    const name = `late_${process.pid}`;
    const url = new URL(stack.database_url);
    url.pathname = `/${name}`;
    const { process: origin, status } = await another({ DATABASE_URL: url.href });
    await until('the origin is not ready', 30, async () => (await status('/ready')) === 503);
    const admin = new pg.Client(stack.database_url);
    await admin.connect();
    try {
      await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
      // An origin ends when it finds a schema older than itself, even after its start.
      const code = await new Promise((resolve) => origin.once('exit', resolve));
      assert.equal(code, 1);
      const migrate = spawn(stack.origin_bin, ['migrate'], { env: { ...originEnvironment(stack), DATABASE_URL: url.href }, stdio: 'ignore' });
      assert.equal(await new Promise((resolve) => migrate.once('exit', resolve)), 0);
      const next = await another({ DATABASE_URL: url.href });
      await until('the next origin is ready', 60, async () => (await next.status('/ready')) === 200);
      assert.equal(await ended(next.process, 'SIGTERM'), 0);
    } finally {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await admin.end();
    }
  });
});

describe('Ctrl-C of `up`', () => {
  test('a second stack on the same state is refused', { timeout: 60_000 }, async () => {
    const second = xtask('up', '--state', stack.state, '--port', '8787');
    const code = await new Promise((resolve) => second.once('exit', resolve));
    assert.notEqual(code, 0);
    assert.match(second.said, /already running/);
  });

  test('sends `draining` to the streams at the edge, and leaves no process behind', { timeout: 90_000 }, async () => {
    const { rest } = await openStream(stack.edge);
    const { child, pids } = stack;
    const code = await stack.stop();
    stack = undefined;
    assert.equal(code, 0, child.said);
    assert.match(await rest, /event: draining\nretry: 1000\ndata: \{"retry":1000\}/);
    for (const [name, pid] of Object.entries(pids)) assert.equal(isAlive(pid), false, name);
  });
});
