// `rds-origin chain check` against real nodes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startNode, startProxy } from './chain-node.mjs';
import { verb } from './operator.mjs';
import { originEnvironment } from './private-stack.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const folder = mkdtempSync(join(tmpdir(), 'rds-chain-'));
const nodes = [];

const node = async () => {
  const started = await startNode();
  nodes.push(started);
  return started.url;
};

async function rpc(url, method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = await answer.json();
  assert.equal(error, undefined);
  return result;
}

/** Runs `chain check` on these chains; resolves to the exit code and what it printed. */
const check = (chains, keys = {}) => new Promise((resolve) => {
  const [providers, secrets] = ['providers.json', 'keys.json'].map((name) => join(folder, name));
  writeFileSync(providers, JSON.stringify({ chains }));
  writeFileSync(secrets, JSON.stringify(keys));
  const words = ['chain', 'check', '--providers', providers, '--keys', secrets, '--json'];
  execFile(stack.origin_bin, words, { timeout: 60_000 }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
});

describe('chain check', () => {
  let url;
  let other;

  before(async () => {
    [url, other] = await Promise.all([node(), node()]);
    await rpc(url, 'anvil_mine', '0x64');
  });
  after(() => {
    for (const { stop } of nodes) stop();
    rmSync(folder, { recursive: true });
  });

  test('finds the final block that two operators name, and that they serve the reader', async () => {
    const providers = ['a', 'b'].map((operator) => ({ url, operator }));
    const { code, stdout } = await check([{ chain_id: 31_337, quorum: 2, final_after_blocks: 10, providers }]);
    const [{ target, providers: found }] = JSON.parse(stdout);
    assert.equal(code, 0);
    const block = await rpc(url, 'eth_getBlockByNumber', '0x5a', false);
    assert.deepEqual(target, { block: { number: 90, hash: block.hash, time: Number(block.timestamp) }, operators: ['a', 'b'] });
    for (const one of found) assert.deepEqual([one.fault, one.chain_id, one.reads_by], [null, 31_337, 'override']);
  });

  test('shows how far each provider serves the chain, and doctor shows the same', async () => {
    const refuses = (request) => {
      const error = { code: -32_000, message: 'the gas limit of a call is 60000000' };
      const isTooMuch = request.method === 'eth_call' && Number(request.params[0].gas) > 60_000_000;
      return isTooMuch ? { text: JSON.stringify({ jsonrpc: '2.0', id: request.id, error }) } : undefined;
    };
    const limited = await startProxy(url, refuses);
    const providers = [{ url, operator: 'a' }, { url: limited.url, operator: 'b' }];
    const chains = [{ chain_id: 31_337, quorum: 2, final_after_blocks: 10, providers }];
    const { code, stdout } = await check(chains);
    assert.equal(code, 0, stdout);
    const [{ providers: [free, low] }] = JSON.parse(stdout);
    assert.deepEqual([free.is_archive, free.state_since_block, low.is_archive], [true, 1, true]);
    assert.deepEqual([free.gas_of_a_call, low.gas_of_a_call], [1_000_000_000, 50_000_000]);

    const environment = { ...originEnvironment(stack), RDS_CHAIN_PROVIDERS: join(folder, 'providers.json') };
    const doctor = (env) => new Promise((resolve) => {
      execFile(stack.origin_bin, ['doctor', '--json'], { env, timeout: 60_000 }, (error, text) => resolve(JSON.parse(text)));
    });
    const lines = (await doctor(environment)).filter(({ name }) => name === 'chains');
    limited.stop();
    assert.deepEqual(lines.map(({ ok }) => ok), [true, true, true], JSON.stringify(lines));
    assert.match(lines[1].detail, /^31337 b +final block 90, .* archive; gives a call 50\.0 million gas, and refuses 100\.0 million$/);
    assert.match(lines[2].detail, /^31337 reads at block 90, .* named by a, b$/);
    const away = await doctor({ ...environment, RDS_CHAIN_PROVIDERS: join(folder, 'providers.json') });
    assert.deepEqual(away.filter(({ name }) => name === 'chains').map(({ ok }) => ok), [true, false, false], 'b is away');
    const none = (await verb(stack, 'doctor')).filter(({ name }) => name === 'chains');
    assert.deepEqual(none.map(({ detail }) => detail), ['RDS_CHAIN_PROVIDERS is not set: no chain is configured']);
  });

  test('fails if the operators are on different forks, or one serves another chain or nothing', async () => {
    const providers = [{ url, operator: 'a' }, { url: other, operator: 'b' }];
    await rpc(other, 'anvil_mine', '0x64');
    const forked = await check([{ chain_id: 31_337, quorum: 2, final_after_blocks: 10, providers }]);
    assert.equal(forked.code, 1);
    assert.deepEqual(JSON.parse(forked.stdout).map(({ target, reason }) => [target, reason]), [[null, 'the operators name different final blocks']]);

    const closed = { url: 'http://127.0.0.1:1/{key}', key: 'paid', operator: 'c' };
    const wrong = await check([{ chain_id: 1, quorum: 2, providers: [{ url, operator: 'a' }, closed] }], { paid: 'a-secret-key' });
    assert.equal(wrong.code, 1);
    const [{ providers: found, reason }] = JSON.parse(wrong.stdout);
    assert.deepEqual(found.map(({ operator, fault }) => [operator, fault]), [['a', 'it serves chain 31337'], ['c', 'the provider failed']]);
    assert.equal(reason, '1 of 2 operators answered');
    assert.doesNotMatch(wrong.stdout + wrong.stderr, /a-secret-key/);
  });

  test('names every fault of the file, and no key', async () => {
    const providers = [{ url: 'https://a.example/{key}', key: 'none' }, { url: 'https://b.example/' }, { url: 'https://c.example/', requests_per_second: 0 }];
    const { code, stdout, stderr } = await check([{ chain_id: 1, quorum: 3, providers }], { paid: 'a-secret-key' });
    assert.equal(code, 1);
    for (const line of [
      'chains[0].providers[0].key: the file of keys has no key of this name',
      'chains[0].providers[2].requests_per_second: must be from 1 to 10000',
      'chains[0].quorum: there are fewer operators than the quorum needs',
    ]) assert.ok(stdout.includes(line) || stderr.includes(line), `${line} in ${stdout}${stderr}`);
    assert.doesNotMatch(stdout + stderr, /a-secret-key/);
  });
});
