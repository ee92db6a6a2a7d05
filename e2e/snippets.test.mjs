// Runs the guides' snippets as they are printed, against signatures made by an independent reference and against the stream.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadPyodide } from 'pyodide';
import { ask } from '../docs/snippets/ask-again.mjs';
import { follow } from '../docs/snippets/follow-events.mjs';
import { isGenuine } from '../docs/snippets/verify-webhook.mjs';
import { organisation } from './operator.mjs';
import { sharedStack, until } from './stack.mjs';

const lines = (path) => readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const signatures = lines('push/signatures.jsonl');

/** Checks a verifier against the vectors; `verifies` is `(header, body, secret, now)`. */
function judge(verifies) {
  assert.ok(signatures.length > 10);
  for (const { ours, body, secrets, seconds } of signatures) {
    for (const secret of secrets) {
      assert.ok(verifies(ours, body, secret, seconds) && verifies(ours, body, secret, seconds + 300), ours);
      assert.ok(!verifies(ours, `${body} `, secret, seconds), 'another body');
      assert.ok(!verifies(ours, body, `${secret}0`, seconds), 'another secret');
      assert.ok(!verifies(ours, body, secret, seconds + 301) && !verifies(ours, body, secret, seconds - 301), 'another time');
      for (const malformed of ['', 't=,v1=', 'v1=00', ours.replace('t=', 'u=')]) assert.ok(!verifies(malformed, body, secret, seconds), malformed);
    }
  }
}

test('webhooks are verified in Node', () => {
  judge((header, body, secret, now) => isGenuine(header, Buffer.from(body), secret, now));
});

test('webhooks are verified in Python', async () => {
  const python = await loadPyodide();
  python.runPython(readFileSync(new URL('../docs/snippets/verify_webhook.py', import.meta.url), 'utf8'));
  const genuine = python.runPython('lambda header, body, secret, now: is_genuine(header, body.encode(), secret, now)');
  judge(genuine);
});

test('decisions are verified with an Ethereum library', async (t) => {
  // The snippet is copied next to this suite's `node_modules`, so that Node finds the library that the snippet imports.
  const folder = mkdtempSync(fileURLToPath(new URL('.snippets-', import.meta.url)));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'verify-decision.mjs');
  copyFileSync(new URL('../docs/snippets/verify-decision.mjs', import.meta.url), file);
  const { isGenuine: isGenuineDecision } = await import(pathToFileURL(file).href);
  let genuine = 0;
  for (const { name, in: given } of lines('decisions/verifications.jsonl')) {
    if (name !== 'as it was made') continue;
    const { id: decisionId, envelope, signature } = given;
    const decision = { decisionId, envelope, signature, signerAddress: JSON.parse(envelope).signerAddress };
    assert.ok(isGenuineDecision(decision));
    assert.ok(!isGenuineDecision({ ...decision, envelope: envelope.replace('caution', 'approve') }), 'another verdict');
    assert.ok(!isGenuineDecision({ ...decision, signerAddress: `0x${'1'.repeat(40)}` }), 'another signer');
    genuine += 1;
  }
  assert.ok(genuine > 0);
});

/** Starts a server with the request listener `handle`, for the duration of a test; resolves to its URL. */
async function serve(t, handle) {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

test('a request is retried after 429, 503 and 504 until no attempts are left', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const statuses = [429, 503, 504, 200];
  const base = await serve(t, (request, response) => response.writeHead(statuses.shift() ?? 429, { 'retry-after': '0' }).end());
  assert.equal((await ask(base)).status, 200);
  assert.equal((await ask(base, {}, 2)).status, 429);
  statuses.push(400, 200);
  assert.equal((await ask(base)).status, 400, '400 is not retried');
});

const stack = sharedStack();

/** Publishes an event; returns its title. */
async function publish() {
  const { now } = (await stack.operate('/clock')).json;
  const title = `snippet-${organisation()}`;
  const line = { kind: 'event', observed_at: now, source: 'e2e', event_key: title, event_type: 'Notice', severity: 'Info', title, occurred_at: now };
  const ingested = await stack.operate('/ingest', { method: 'POST', body: `${JSON.stringify(line)}\n` });
  assert.equal(ingested.status, 200, ingested.text);
  return title;
}

test('a stream that breaks before its first event loses none', async (t) => {
  // The proxy closes the first connection after its `ready` frame and refuses new ones until `isUp` is true again.
  let connections = 0;
  let isUp = true;
  const base = await serve(t, async (request, response) => {
    if (!isUp) return response.destroy();
    connections += 1;
    const first = connections === 1;
    const { authorization, 'last-event-id': cursor } = request.headers;
    const stop = new AbortController();
    response.on('close', () => stop.abort());
    try {
      const headers = { authorization, ...(cursor && { 'last-event-id': cursor }) };
      const stream = await fetch(`${stack.edge}/v1/events/stream`, { headers, signal: stop.signal });
      response.writeHead(stream.status);
      for await (const piece of stream.body) {
        response.write(piece);
        if (first && Buffer.from(piece).includes('event: ready')) {
          isUp = false;
          response.end();
          return;
        }
      }
    } catch {
      response.destroy();
    }
  });
  const frames = [];
  const stop = new AbortController();
  t.after(() => stop.abort());
  const following = follow(base, stack.keys.data, (name, data) => frames.push({ name, title: data?.title }), { signal: stop.signal });
  await until('the first connection was ready and is closed', 15, () => !isUp && frames.length > 0);
  assert.deepEqual(frames.map(({ name }) => name), ['ready'], 'no frame with an id has arrived');
  const missed = await publish();
  isUp = true;
  await until('the missed event', 15, () => frames.some(({ title }) => title === missed));
  stop.abort();
  await following;
});

test('following the stream ends when the key is refused', async () => {
  const stop = AbortSignal.timeout(20_000);
  await assert.rejects(follow(stack.edge, `pk_live_${'0'.repeat(32)}`, () => {}, { signal: stop }), /401/);
  assert.ok(!stop.aborted);
});

test('following the stream from a cursor after a lost connection misses no event', async (t) => {
  const frames = [];
  let stop = new AbortController();
  t.after(() => stop.abort());
  const onFrame = (name, data, id) => frames.push({ name, title: data?.title, id });
  const following = follow(stack.edge, stack.keys.data, onFrame, { signal: stop.signal });
  await until('the stream is ready', 15, () => frames.some(({ name }) => name === 'ready'));
  const first = await publish();
  await until('the first event', 15, () => frames.some(({ title }) => title === first));
  stop.abort();
  await following;
  const missed = await publish();
  assert.ok(!frames.some(({ title }) => title === missed));
  stop = new AbortController();
  const cursor = frames.findLast(({ id }) => id).id;
  const again = follow(stack.edge, stack.keys.data, onFrame, { cursor, signal: stop.signal });
  await until('the missed event', 15, () => frames.some(({ title }) => title === missed));
  stop.abort();
  await again;
});
