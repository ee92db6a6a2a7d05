// Compiles the contracts here: node compile.mjs FOLDER, where FOLDER has npm's solc 0.8.37 installed. Writes a JSON file beside each source.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const here = import.meta.dirname;
const solc = createRequire(join(process.argv[2], 'package.json'))('solc');
const names = ['World.sol', 'Lending.sol', 'Allocating.sol', 'Hostile.sol', 'Factory.sol', 'Deposits.sol', 'Powers.sol'];
const input = {
  language: 'Solidity',
  sources: Object.fromEntries(names.map((name) => [name, { content: readFileSync(join(here, name), 'utf8') }])),
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
for (const name of names) {
  const contracts = Object.entries(output.contracts[name])
    .filter(([, { evm }]) => evm.bytecode.object !== '')
    .map(([contract, { evm }]) => [contract, { bytecode: `0x${evm.bytecode.object}`, functions: evm.methodIdentifiers }]);
  const file = name.replace('.sol', '.json').toLowerCase();
  writeFileSync(join(here, file), `${JSON.stringify(Object.fromEntries(contracts), null, 2)}\n`);
}
