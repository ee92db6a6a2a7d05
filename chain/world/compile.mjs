// Compiles the contracts here: node compile.mjs FOLDER, where FOLDER has npm's solc 0.8.37 installed. Writes a JSON file beside each source.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const here = import.meta.dirname;
const solc = createRequire(join(process.argv[2], 'package.json'))('solc');
for (const [source, written] of [['World.sol', 'world.json'], ['Hostile.sol', 'hostile.json']]) {
  const input = {
    language: 'Solidity',
    sources: { [source]: { content: readFileSync(join(here, source), 'utf8') } },
    settings: {
      evmVersion: 'london',
      optimizer: { enabled: true, runs: 1 },
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.methodIdentifiers'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const faults = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (faults.length > 0) throw new Error(faults.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const contracts = Object.entries(output.contracts[source]).map(([name, { evm }]) => [
    name,
    { bytecode: `0x${evm.bytecode.object}`, functions: evm.methodIdentifiers },
  ]);
  writeFileSync(join(here, written), `${JSON.stringify(Object.fromEntries(contracts), null, 2)}\n`);
}
