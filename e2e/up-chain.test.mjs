// `cargo xtask up --chain`: vaults of a local node that are found, scored and followed by themselves, across restarts.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { verb } from './operator.mjs';
import { ended, isAlive, up, upIn, xtask } from './private-stack.mjs';
import { until } from './stack.mjs';

/** Seconds within which a change on the chain must be served. The vaults change every ten seconds, in turns. */
const PATIENCE = 120;
/** Milliseconds between two looks: the key's limit is 600 requests a minute. */
const PAUSE = 1_000;

let stack;

before(async () => {
  stack = await up('--chain');
});

after(() => stack?.stop());

const headers = () => ({ authorization: `Bearer ${stack.keys.data}` });

async function detail({ address }) {
  const answer = await fetch(`${stack.edge}/v1/vault/devnet/${address}`, { headers: headers() });
  return answer.status === 200 ? (await answer.json()).data.vault : undefined;
}

/** The vaults' details by name, once all of them have a score that rests on readings. */
const scored = () =>
  until('every vault is scored with evidence', PATIENCE, async () => {
    const found = await Promise.all(stack.chain.vaults.map(detail));
    const isRead = (vault) => vault?.score_provenance?.inputs.caps.tvl_usd.evidence;
    return found.every(isRead) && Object.fromEntries(found.map((vault) => [vault.name, vault]));
  }, PAUSE);

const block = ({ score_provenance: { inputs } }) => inputs.caps.tvl_usd.evidence.block_number;

async function rpc(method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(stack.chain.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await answer.json()).result;
}

/** Resolves once the facts of a vault have moved on the chain that the node has now. */
async function moves(before) {
  const moved = await until('the facts of a vault move', PATIENCE, async () => {
    const now = Object.values(await scored());
    return now.find((vault) => vault.tvl_usd !== before[vault.name].tvl_usd && vault.last_synced_at > before[vault.name].last_synced_at);
  }, PAUSE);
  const { evidence } = moved.score_provenance.inputs.caps.tvl_usd;
  assert.equal((await rpc('eth_getBlockByNumber', `0x${evidence.block_number.toString(16)}`, false)).hash, evidence.block_hash);
  return moved;
}

/** Status and detail of the component `chains`, as the origin has them now. */
async function status() {
  const { components } = await (await fetch(`${stack.relay}/v1/status`)).json();
  const { status: word, detail } = components.find(({ name }) => name === 'chains');
  return [word, detail];
}

const isHalted = async () => (await verb(stack, 'chain', 'status')).some(({ halted }) => halted !== null);

describe('up --chain', () => {
  let first;

  test('finds four vaults, and reads who controls each and what it holds', async () => {
    first = await scored();
    const of = (name) => first[name].score_provenance.inputs;
    const control = Object.fromEntries(Object.keys(first).map((name) => [name, [of(name).control.timelock_seconds.value, of(name).control.signers.value]]));
    assert.deepEqual(control, {
      'Harbour Reserve': [172_800, { threshold: 2, owners: 3 }],
      'Council Notes': [0, { threshold: 2, owners: 3 }],
      'Lantern Credit': [0, 'eoa'],
      'Pebble Solo': [0, 'eoa'],
    });
    assert.ok(first['Harbour Reserve'].risk_vectors.control.score > first['Pebble Solo'].risk_vectors.control.score);
    const call = of('Harbour Reserve').control.timelock_seconds.evidence.calls.at(-1);
    assert.match(call.contract, /^0x[0-9a-f]{40}$/);
    assert.match(stack.child.said, new RegExp(`curl 'http://127.0.0.1:\\d+/v1/vault/devnet/${stack.chain.vaults[0].address}'`));
    assert.ok(stack.child.said.includes(stack.chain.url));
    assert.deepEqual(await status(), ['operational', null]);
  });

  test('changes the vaults, and the changes are served', async () => {
    await moves(first);
    await until('a vault that lent its asset holds it no longer alone', PATIENCE, async () => {
      const { asset } = (await scored())['Lantern Credit'].score_provenance.inputs;
      return asset.exposures_status.value === 'unavailable';
    }, PAUSE);
  });

  test('goes on with the same chain after Ctrl-C, which leaves no process behind', async () => {
    const before = await scored();
    const { pids, state } = stack;
    assert.equal(await ended(stack.child, 'SIGINT'), 0);
    assert.deepEqual(Object.entries(pids).filter(([, pid]) => isAlive(pid)), []);
    stack = await upIn(state, '--chain');
    const served = await scored();
    for (const [name, vault] of Object.entries(before)) assert.ok(block(served[name]) >= block(vault), name);
    await moves(served);
    assert.equal(await isHalted(), false);
  });

  test('reads the new chain if the node has lost the old one', async () => {
    const before = await scored();
    const { state } = stack;
    await ended(stack.child, 'SIGINT');
    rmSync(join(state, 'chain'), { recursive: true });
    stack = await upIn(state, '--chain');
    assert.match(stack.child.said, /what was read of the lost chain \(taken back\)/);
    const oldest = Math.min(...Object.values(before).map(block));
    const served = await until('the new chain is read', PATIENCE, async () => {
      const found = await scored();
      return Object.values(found).every((vault) => block(vault) < oldest || vault.last_synced_at > before[vault.name].last_synced_at) && found;
    }, PAUSE);
    await moves(served);
    assert.equal(await isHalted(), false);
    assert.deepEqual(await status(), ['operational', null]);
  });

  test('refuses what does not go with a chain, with the reason', async () => {
    for (const [words, reason] of [
      [['--data', 'none'], /--chain needs the demo market/],
      [['--test-clock'], /--chain and --test-clock exclude each other/],
    ]) {
      const child = xtask('up', '--chain', '--state', join(stack.state, 'refused'), ...words);
      const [code] = await once(child, 'exit');
      assert.equal(code, 1);
      assert.match(child.said, reason);
    }
  });
});
