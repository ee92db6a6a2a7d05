// The guides' snippets, run as they are printed: against signatures that an independent reference made, and against the stream.

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadPyodide } from 'pyodide';
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

test('the stream is followed over a lost connection without losing an operation', async () => {
  const stack = sharedStack();
  const publish = async () => {
    const { now } = (await stack.operate('/clock')).json;
    const title = `snippet ${organisation()}`;
    const line = { kind: 'event', observed_at: now, source: 'e2e', event_key: title, event_type: 'Notice', severity: 'Info', title, occurred_at: now };
    assert.equal((await stack.operate('/ingest', { method: 'POST', body: `${JSON.stringify(line)}\n` })).status, 200);
    return title;
  };
  const frames = [];
  let stop = new AbortController();
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
