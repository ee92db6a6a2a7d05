// The guides' snippets, run as they are printed: against signatures that an independent reference made, and against the stream.

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

/** What every verifier must say of the vectors; `holds` is `(header, body, secret, now)`. */
function judge(holds) {
  assert.ok(signatures.length > 10);
  for (const { ours, body, secrets, seconds } of signatures) {
    for (const secret of secrets) {
      assert.ok(holds(ours, body, secret, seconds) && holds(ours, body, secret, seconds + 300), ours);
      assert.ok(!holds(ours, `${body} `, secret, seconds), 'another body');
      assert.ok(!holds(ours, body, `${secret}0`, seconds), 'another secret');
      assert.ok(!holds(ours, body, secret, seconds + 301) && !holds(ours, body, secret, seconds - 301), 'another time');
      for (const malformed of ['', 't=,v1=', 'v1=00', ours.replace('t=', 'u=')]) assert.ok(!holds(malformed, body, secret, seconds), malformed);
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
  // Beside this suite's packages, where the library that it imports is found.
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

/** A server of this test's own; `answer` is what it does with a request. */
async function serving(t, answer) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

test('whoever is told to wait asks again, until there are no attempts left', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const told = [429, 503, 504, 200];
  const base = await serving(t, (request, response) => response.writeHead(told.shift() ?? 429, { 'retry-after': '0' }).end());
  assert.equal((await ask(base)).status, 200);
  assert.equal((await ask(base, {}, 2)).status, 429);
  told.push(400, 200);
  assert.equal((await ask(base)).status, 400, 'what is wrong stays wrong');
});

const stack = sharedStack();

/** Publishes an event, and gives its title. */
async function publish() {
  const { now } = (await stack.operate('/clock')).json;
  const title = `snippet-${organisation()}`;
  const line = { kind: 'event', observed_at: now, source: 'e2e', event_key: title, event_type: 'Notice', severity: 'Info', title, occurred_at: now };
  const took = await stack.operate('/ingest', { method: 'POST', body: `${JSON.stringify(line)}\n` });
  assert.equal(took.status, 200, took.text);
  return title;
}

test('a stream that breaks before its first event loses none', async (t) => {
  // Passes on the first frame of the first connection, and then lets nothing through until it is told to.
  let connections = 0;
  let isUp = true;
  const base = await serving(t, async (request, response) => {
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
  await until('the first connection is ready and gone', 15, () => !isUp && frames.length > 0);
  assert.deepEqual(frames.map(({ name }) => name), ['ready'], 'no frame with an id came');
  const missed = await publish();
  isUp = true;
  await until('what was missed', 15, () => frames.some(({ title }) => title === missed));
  stop.abort();
  await following;
});

test('a stream ends where its key is refused', async () => {
  const stop = AbortSignal.timeout(20_000);
  await assert.rejects(follow(stack.edge, `pk_live_${'0'.repeat(32)}`, () => {}, { signal: stop }), /401/);
  assert.ok(!stop.aborted);
});

test('the stream is followed over a lost connection without losing an operation', async (t) => {
  const frames = [];
  let stop = new AbortController();
  t.after(() => stop.abort());
  const take = (name, data, id) => frames.push({ name, title: data?.title, id });
  const following = follow(stack.edge, stack.keys.data, take, { signal: stop.signal });
  await until('the stream is ready', 15, () => frames.some(({ name }) => name === 'ready'));
  const first = await publish();
  await until('the first event', 15, () => frames.some(({ title }) => title === first));
  stop.abort();
  await following;
  const missed = await publish();
  assert.ok(!frames.some(({ title }) => title === missed));
  stop = new AbortController();
  const cursor = frames.findLast(({ id }) => id).id;
  const again = follow(stack.edge, stack.keys.data, take, { cursor, signal: stop.signal });
  await until('what was missed', 15, () => frames.some(({ title }) => title === missed));
  stop.abort();
  await again;
});
