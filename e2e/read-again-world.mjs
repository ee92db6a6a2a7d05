// An answer of the service about the vault of a local world, with the evidence of calls that were made on its node.

import { keccak256 } from 'viem';

const CHAIN = 31_337;
const SLOT = `0x${'0'.repeat(64)}`;

/** A call with the node's answer at the block, as evidence states it. */
async function called(world, block, method, contract, data) {
  const pin = { blockHash: block.hash };
  const parameters = { eth_call: [{ to: contract, data }, pin], eth_getStorageAt: [contract, data, pin], eth_getCode: [contract, pin] }[method];
  const answer = await world.rpc(method, ...parameters).catch(() => null);
  return { method, contract, data: data ?? null, answer: method === 'eth_getCode' ? keccak256(answer) : answer };
}

/** The provenance of two inputs that were read at the newest block, and of one that was stated. */
export async function worldAnswer(world) {
  const block = await world.rpc('eth_getBlockByNumber', 'latest', false);
  const at = (...rest) => called(world, block, ...rest);
  const evidence = (...calls) => ({
    chain_id: CHAIN, block_number: Number(block.number), block_hash: block.hash, agreed: 2, asked: 3, calls,
  });
  const input = (value, evidence) => ({ value, source: `chain:${CHAIN}`, observed_at: '2026-11-26T00:00:00.000Z', evidence });
  const total = await at('eth_call', world.vault, world.data('Vault', 'totalAssets()'));
  const owner = await at('eth_call', world.vault, world.data('Vault', 'owner()'));
  const refused = await at('eth_call', world.vault, world.data('Token', 'mint(address,uint256)', world.token, 1));
  const inputs = {
    control: {
      timelock_seconds: input(172_800, evidence(
        owner,
        await at('eth_getCode', world.timelock),
        await at('eth_call', world.timelock, world.data('Timelock', 'delay()')),
        await at('eth_getStorageAt', world.timelock, SLOT),
        refused,
      )),
    },
    caps: {
      tvl_usd: input(1_000_000, evidence(
        total,
        await at('eth_call', world.feed, world.data('Feed', 'latestRoundData()')),
        owner,
        await at('eth_call', world.token, world.data('Token', 'decimals()')),
        await at('eth_call', world.feed, world.data('Feed', 'decimals()')),
      )),
      utilization: { value: null, source: null, observed_at: null },
    },
  };
  return { data: { vault: { address: world.vault, score_provenance: { inputs } } } };
}

/** The answer with a changed digit in the answer of a call, by the names of the input and the position of the call. */
export function flipped(answer, group, name, place) {
  const changed = structuredClone(answer);
  const call = changed.data.vault.score_provenance.inputs[group][name].evidence.calls[place];
  call.answer = call.answer.slice(0, -1) + (call.answer.endsWith('0') ? '1' : '0');
  return changed;
}
