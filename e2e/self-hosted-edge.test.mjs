// The edge as the product ships it for plain workerd (deploy/workerd): its configuration from the environment, whom it believes the caller's address, and its disk.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { windowWithSecondsLeft } from './metering.mjs';
import { ended, freePorts, originEnvironment, repository } from './private-stack.mjs';
import { sharedStack, until } from './stack.mjs';

const stack = sharedStack();
/** The release that `up` laid out. */
const release = join(dirname(process.env.RDS_STACK), 'edge');
const folder = mkdtempSync(join(tmpdir(), 'rds-self-hosted-'));
const running = new Set();

after(async () => {
  for (const edge of running) await ended(edge, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Starts workerd with the shipped configuration, these variables and a folder of objects. */
async function start(variables, objects = mkdtempSync(join(folder, 'objects-'))) {
  mkdirSync(objects, { recursive: true });
  const port = await freePorts(1);
  const words = ['serve', 'worker.capnp', `--socket-addr=http=127.0.0.1:${port}`, `--directory-path=objects=${objects}`];
  const edge = spawn(process.env.RDS_WORKERD, words, { cwd: release, env: { PATH: process.env.PATH, ...variables }, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(edge);
  let said = '';
  for (const stream of [edge.stdout, edge.stderr]) stream.on('data', (chunk) => (said += chunk));
  const url = `http://127.0.0.1:${port}`;
  const ask = async (target, headers = {}) => {
    const answer = await fetch(`${url}${target}`, { headers });
    await answer.arrayBuffer();
    return { status: answer.status, remaining: Number(answer.headers.get('x-ratelimit-remaining')) };
  };
  await until('workerd answers', 60, async () => {
    assert.equal(edge.exitCode, null, said);
    return ask('/ready').then(() => true, () => false);
  });
  return { edge, ask, objects, log: () => said, stop: async () => ended(edge, 'SIGTERM') };
}

const required = () => ({
  ORIGIN_URL: stack.origin_edge,
  ASSERTION_KEY: originEnvironment(stack).RDS_EDGE_ASSERTION_KEYS,
  GUARD_TIMEOUT_MS: '5000',
});

/** Requests that are left to a caller who names an address in the header, after one request. */
const left = async (edge, header, address) => (await edge.ask('/v1/chains', { [header]: address })).remaining;

test('what `up` runs is the shipped configuration, unchanged', () => {
  for (const name of ['worker.capnp', 'cache-store.mjs']) {
    assert.equal(readFileSync(join(release, name), 'utf8'), readFileSync(join(repository, 'deploy/workerd', name), 'utf8'), name);
  }
});

describe('with the two required variables', () => {
  let edge;
  before(async () => { edge = await start(required()); });

  test('it is ready, and serves data and pages', async () => {
    assert.equal((await edge.ask('/ready')).status, 200);
    for (const target of ['/v1/vaults?limit=3', '/v1/docs', '/v1/openapi.json']) assert.equal((await edge.ask(target)).status, 200, target);
  });

  test('a proxy on this machine names the caller, and nothing else is believed', async () => {
    await windowWithSecondsLeft(15);
    const first = await left(edge, 'cf-connecting-ip', '203.0.113.7');
    assert.equal(await left(edge, 'cf-connecting-ip', '203.0.113.7'), first - 1);
    assert.equal(await left(edge, 'cf-connecting-ip', '198.51.100.7'), first, 'another caller has requests of its own');
    const unknown = await left(edge, 'x-real-ip', '203.0.113.8');
    assert.equal(await left(edge, 'x-real-ip', '203.0.113.9'), unknown - 1, 'a header that is not configured names nobody');
  });

  test('counts outlive a restart, in the folder of objects', async () => {
    await windowWithSecondsLeft(15);
    const before = await left(edge, 'cf-connecting-ip', '203.0.113.77');
    await edge.stop();
    const classes = readdirSync(edge.objects).sort();
    assert.deepEqual(classes.filter((name) => ['AddressGuard', 'Epochs', 'KeyGuard', 'Replica'].includes(name)), classes);
    assert.ok(readdirSync(join(edge.objects, 'AddressGuard')).some((name) => name.endsWith('.sqlite')));
    const again = await start(required(), edge.objects);
    assert.equal(await left(again, 'cf-connecting-ip', '203.0.113.77'), before - 1);
    await again.stop();
  });
});

test('a peer outside the trusted networks is counted under its own address', async () => {
  const edge = await start({ ...required(), TRUSTED_PROXIES: '10.0.0.0/8', CLIENT_IP_HEADER: 'X-Real-IP' });
  await windowWithSecondsLeft(15);
  const first = await left(edge, 'x-real-ip', '203.0.113.7');
  assert.equal(await left(edge, 'x-real-ip', '198.51.100.7'), first - 1, 'both are this machine');
  await edge.stop();
});

test('a trusted proxy names the caller in the configured header', async () => {
  const edge = await start({ ...required(), TRUSTED_PROXIES: '127.0.0.0/8', CLIENT_IP_HEADER: 'X-Real-IP' });
  await windowWithSecondsLeft(15);
  const first = await left(edge, 'x-real-ip', '203.0.113.7');
  assert.equal(await left(edge, 'x-real-ip', '198.51.100.7'), first);
  const unknown = await left(edge, 'cf-connecting-ip', '203.0.113.8');
  assert.equal(await left(edge, 'cf-connecting-ip', '203.0.113.9'), unknown - 1, "Cloudflare's header names nobody here");
  await edge.stop();
});

test('a missing variable is named in the log, and every request is refused', async () => {
  const edge = await start({ GRAPH: 'maybe' });
  assert.equal((await edge.ask('/v1/chains')).status, 503);
  for (const name of ['ORIGIN_URL', 'ASSERTION_KEY', 'GRAPH']) assert.match(edge.log(), new RegExp(`configuration: ${name} `));
  await edge.stop();
});
