// The peer of the chain reader: the same fields with viem's `multicall`, at one block.
//
// Arguments: the node's URL, and a file with one vault's address a line. Each line of the input names the bytes of calldata in a request, or
// is `default` for viem's own number. It is answered with one line: microseconds of the reading, and a sum over all values, which is
// computed after it.

import { readFileSync } from 'node:fs';
import { argv, exit, stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline';
import { createPublicClient, defineChain, http, parseAbi } from 'viem';

/** The account for which limits are asked. */
const HOLDER = '0x000000000000000000000000000000000000fead';
const [url, file] = argv.slice(2);
const abi = parseAbi([
  'function asset() view returns (address)',
  'function decimals() view returns (uint8)',
  'function totalAssets() view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function maxDeposit(address) view returns (uint256)',
  'function maxRedeem(address) view returns (uint256)',
]);
const fields = [['asset'], ['decimals'], ['totalAssets'], ['totalSupply'], ['maxDeposit', [HOLDER]], ['maxRedeem', [HOLDER]]];
const chain = defineChain({
  id: 31_337,
  name: 'local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [url] } },
  contracts: { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' } },
});
const client = createPublicClient({ chain, transport: http(url, { timeout: 60_000 }) });
const vaults = readFileSync(file, 'utf8').trim().split('\n');

async function read(batchSize) {
  const blockNumber = await client.getBlockNumber({ cacheTime: 0 });
  const contracts = vaults.flatMap((address) => fields.map(([functionName, args]) => ({ address, abi, functionName, args })));
  return client.multicall({ contracts, blockNumber, ...(batchSize && { batchSize }) });
}

/** Ends with the first lines of an error: viem's also lists every call. */
function fail(error) {
  console.error(String(error.message).slice(0, 300));
  exit(1);
}

for await (const line of createInterface({ input: stdin })) {
  const begun = performance.now();
  const results = await read(line === 'default' ? undefined : Number(line)).catch(fail);
  const micros = Math.round((performance.now() - begun) * 1000);
  const failed = results.find(({ status }) => status !== 'success');
  if (failed) fail(failed.error);
  const sum = BigInt.asUintN(256, results.reduce((total, { result }) => total + BigInt(result), 0n));
  stdout.write(`${micros} ${sum.toString(16).padStart(64, '0')}\n`);
}
