// Inputs of scores are read again with the verifier's package and program, on a real node.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { World } from '../chain/world/world.mjs';
import { readAgain } from '../shared/verifier/build/node.js';
import { startNode, startProxy } from './chain-node.mjs';
import { allStarted } from './private-stack.mjs';
import { flipped, worldAnswer } from './read-again-world.mjs';
import { sharedStack } from './stack.mjs';

const PROGRAM = fileURLToPath(new URL('../shared/verifier/build/read-again-cli.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rds-read-again-'));
const stack = sharedStack();
let [node, other, world, answer] = [];
const stops = [];

before(async () => {
  [node, other] = await allStarted(startNode(), startNode('--chain-id', '7'));
  world = await World.create(node.url);
  answer = await worldAnswer(world);
});
after(() => {
  for (const stop of [...stops, () => node?.stop(), () => other?.stop()]) stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A proxy of the node that changes answers; stopped at the end. */
async function proxy(change) {
  const started = await startProxy(node.url, change);
  stops.push(started.stop);
  return started;
}

const read = (given, ...endpoints) => readAgain(JSON.stringify(given), endpoints);
const reasons = ({ inputs }) => [...new Set(inputs.flatMap(({ findings }) => findings.map(({ reason }) => reason)))];

async function expectUnchecked(reason, ...endpoints) {
  const report = await read(answer, ...endpoints);
  assert.deepEqual([report.outcome, reasons(report)], ['not_checked', [reason]], JSON.stringify(report, null, 1));
  return report;
}

/** Runs the program; resolves to its exit status and output. */
const run = (input, ...words) =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [PROGRAM, ...words], (fault, out, said) => resolve({ status: fault?.code ?? 0, out, said }));
    child.stdin.end(input);
  });

describe('inputs that were read on a chain', () => {
  test('are confirmed by a node, which is asked each call once', async () => {
    const counted = await proxy(() => undefined);
    const report = await read(answer, counted.url);
    assert.deepEqual([report.outcome, report.stated], ['confirmed', 1], JSON.stringify(report, null, 1));
    assert.deepEqual(report.inputs.map(({ name, outcome, readAt }) => [name, outcome, readAt.calls]), [
      ['caps.tvl_usd', 'confirmed', 5], ['control.timelock_seconds', 'confirmed', 5],
    ]);
    // Chain id, block by hash and by number, and nine different calls: both inputs name the owner.
    assert.deepEqual([counted.requests, report.endpoints[0].requests], [12, 12]);
    assert.equal((await read(answer.data.vault.score_provenance, node.url)).outcome, 'confirmed');
  });

  test('are contradicted by a node that answers otherwise, and the call is named', async () => {
    for (const [group, name, place, method] of [
      ['control', 'timelock_seconds', 2, 'eth_call'], ['control', 'timelock_seconds', 1, 'eth_getCode'],
      ['control', 'timelock_seconds', 3, 'eth_getStorageAt'], ['caps', 'tvl_usd', 1, 'eth_call'],
    ]) {
      const report = await read(flipped(answer, group, name, place), node.url);
      assert.equal(report.outcome, 'contradicted');
      const wrong = report.inputs.filter(({ outcome }) => outcome === 'contradicted');
      assert.deepEqual(wrong.map((input) => input.name), [`${group}.${name}`]);
      const [{ call, endpoint }] = wrong[0].findings;
      assert.deepEqual([call.place, call.method, endpoint], [place, method, new URL(node.url).host]);
      const published = answer.data.vault.score_provenance.inputs[group][name].evidence.calls[place].answer;
      assert.equal(call.node, published, 'the node’s answer is shown');
    }
  });

  test('are contradicted where the node’s chain has another block', async () => {
    const moved = structuredClone(answer);
    for (const { evidence } of Object.values(moved.data.vault.score_provenance.inputs.caps).filter((input) => input.evidence)) {
      evidence.block_hash = `0x${'ab'.repeat(32)}`;
    }
    const report = await read(moved, node.url);
    assert.deepEqual(report.inputs.map(({ outcome }) => outcome), ['contradicted', 'confirmed']);
    assert.match(report.inputs[0].said, /not part of the endpoint's chain/);
  });

  test('must be confirmed by every endpoint', async () => {
    const lying = await proxy(({ method }, text) => (method === 'eth_getStorageAt' ? { text: text.replace(/[0-9a-f]"\}/, 'e"}') } : undefined));
    const report = await read(answer, node.url, lying.url);
    assert.deepEqual(report.inputs.map(({ outcome }) => outcome), ['confirmed', 'contradicted']);
    assert.equal(report.inputs[1].findings[0].endpoint, new URL(lying.url).host);
    assert.equal((await read(answer, node.url, (await proxy(() => undefined)).url)).outcome, 'confirmed');
  });
});

test('an input is contradicted if another value follows from its answers, and not confirmed by calls of another contract', async () => {
  const [dearer, elsewhere] = [structuredClone(answer), structuredClone(answer)];
  dearer.data.vault.score_provenance.inputs.caps.tvl_usd.value = 1_100_000;
  const report = await read(dearer, node.url);
  assert.deepEqual(report.inputs.map(({ outcome }) => outcome), ['contradicted', 'confirmed']);
  assert.match(report.inputs[0].said, /another value follows: 1000000\.00/);
  elsewhere.data.vault.address = world.token;
  const { outcome, inputs } = await read(elsewhere, node.url);
  assert.deepEqual([outcome, inputs[1].findings[0].reason], ['not_checked', 'other_contract']);
});

describe('what a node fails at is not checked', () => {
  test('another chain', async () => {
    const report = await expectUnchecked('other_chain', other.url);
    assert.match(report.inputs[0].said, /its id is 7/);
    assert.equal(report.endpoints[0].requests, 1);
  });

  test('a block that the node has not reached', async () => {
    const young = await startNode();
    stops.push(young.stop);
    await expectUnchecked('unknown_block', young.url);
  });

  test('a block whose state was pruned', async () => {
    const error = { code: -32_000, message: 'missing trie node 3f (path ) state is not available' };
    const pruned = await proxy(({ id, method }) =>
      /^eth_(call|getCode|getStorageAt)$/.test(method) ? { text: JSON.stringify({ jsonrpc: '2.0', id, error }) } : undefined);
    const report = await expectUnchecked('no_state', pruned.url);
    assert.match(report.inputs[0].said, /archive node/);
  });

  test('an endpoint that limits the rate or answers with a page', async () => {
    await expectUnchecked('rate_limited', (await proxy(() => ({ status: 429, headers: { 'retry-after': '0' }, text: 'slow down' }))).url);
    await expectUnchecked('not_answered', (await proxy(() => ({ headers: { 'content-type': 'text/html' }, text: '<!doctype html>' }))).url);
    const seen = new Set();
    const busy = await proxy(({ method, params }) => {
      const asked = JSON.stringify([method, params]);
      if (seen.has(asked)) return undefined;
      seen.add(asked);
      return { status: 429, headers: { 'retry-after': '0' }, text: '' };
    });
    assert.equal((await read(answer, busy.url)).outcome, 'confirmed', 'a refused request is sent again');
  });

  test('an endpoint that redirects, which is not followed', async () => {
    const elsewhere = await proxy(() => undefined);
    const server = createServer((_, response) => response.writeHead(307, { location: elsewhere.url }).end());
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    stops.push(() => server.close());
    await expectUnchecked('unreachable', `http://127.0.0.1:${server.address().port}`);
    assert.equal(elsewhere.requests, 0);
  });

  test('an endpoint that is not there', async () => {
    const gone = await startProxy(node.url);
    gone.stop();
    await expectUnchecked('unreachable', gone.url);
  });

  test('what was not asked before the user stopped', async () => {
    const stop = new AbortController();
    const onProgress = ({ done }) => done === 3 && stop.abort();
    const report = await readAgain(JSON.stringify(answer), [node.url], { signal: stop.signal, onProgress });
    assert.deepEqual([report.outcome, reasons(report)], ['not_checked', ['stopped']]);
  });
});

test('hundreds of calls are asked, four at a time', async () => {
  const many = structuredClone(answer);
  const { evidence } = many.data.vault.score_provenance.inputs.caps.tvl_usd;
  // Slots that the contract does not use.
  for (let slot = 1_001; slot <= 1_400; slot += 1) {
    const data = `0x${slot.toString(16).padStart(64, '0')}`;
    evidence.calls.push({ method: 'eth_getStorageAt', contract: world.feed, data, answer: `0x${'0'.repeat(64)}` });
  }
  let [open, most] = [0, 0];
  const server = createServer(async (request, response) => {
    open += 1;
    most = Math.max(most, open);
    let body = '';
    for await (const chunk of request) body += chunk;
    const text = await (await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text();
    open -= 1;
    response.end(text);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => server.close());
  const seen = [];
  const report = await readAgain(JSON.stringify(many), [`http://127.0.0.1:${server.address().port}`], { onProgress: (progress) => seen.push(progress) });
  assert.equal(report.outcome, 'confirmed', report.summary);
  assert.deepEqual(seen.at(-1), { done: 412, of: 412 });
  assert.ok(most > 1 && most <= 4, `${most} at a time`);
});

test('an address that is no endpoint is refused, and nothing is asked', async () => {
  for (const [address, word] of [['node', /must begin with https/], ['ftp://node', /not ftp:/], ['http://a:b@node', /user name/]]) {
    await assert.rejects(read(answer, address), word);
  }
  await assert.rejects(read(answer), /1 to 8 endpoints/);
  await assert.rejects(read({ hello: 1 }, node.url), /no `score_provenance`/);
});

test('the score of every vault of the demo follows from its inputs', async () => {
  const vaults = (await stack.vaults()).filter(({ total_score }) => total_score !== null);
  assert.ok(vaults.length > 20);
  for (const { address, id } of vaults.slice(0, 40)) {
    const detail = await stack.ok(`/v1/vault/devnet/${address}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
    const { score } = await readAgain(detail.text, [node.url]);
    assert.equal(score.outcome, 'ok', `${id}: ${score.said}`);
  }
});

describe('the program', () => {
  test('exits with 0, 1 or 2 by the verdict, and says why', async () => {
    const file = join(folder, 'answer.json');
    writeFileSync(file, JSON.stringify(answer));
    const confirmed = await run('', '--rpc', node.url, '--json', file);
    assert.equal(JSON.parse(confirmed.out).outcome, 'confirmed', confirmed.said);
    // The world's answer has no results of a score, so that part is not checked.
    assert.equal(confirmed.status, 2);
    const wrong = await run(JSON.stringify(flipped(answer, 'caps', 'tvl_usd', 0)), '--rpc', node.url);
    assert.equal(wrong.status, 1, wrong.said);
    assert.match(wrong.out, /CONTRADICTED {2}caps\.tvl_usd = 1000000: eth_call of 0x[0-9a-f]{40} \(call 0\)[\s\S]*published 0x[\s\S]*node {6}0x/);
    const unchecked = await run(JSON.stringify(answer), '--rpc', other.url);
    assert.deepEqual([unchecked.status, /not checked {3}caps\.tvl_usd/.test(unchecked.out)], [2, true], unchecked.out);
    const [vault] = (await stack.vaults()).filter(({ total_score }) => total_score !== null);
    const detail = await stack.ok(`/v1/vault/devnet/${vault.address}`, { headers: { authorization: `Bearer ${stack.keys.data}` } });
    assert.match((await run(detail.text, '--rpc', node.url)).out, /confirmed {5}score: Vectors, caps and score follow/);
  });

  test('exits with 3 without a usable input', async () => {
    for (const [input, words, said] of [
      ['{}', ['--rpc', node.url], /no `score_provenance`/], ['{}', [], /^Usage/], ['{}', ['--url', 'x'], /--url/], ['', ['--rpc', node.url, 'absent'], /absent/],
    ]) {
      const ended = await run(input, ...words);
      assert.equal(ended.status, 3, ended.out);
      assert.match(ended.said, said);
    }
    assert.match((await run('', '--help')).out, /^Usage: /);
  });
});
