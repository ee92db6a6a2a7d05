// Compiles World.sol: node compile.mjs FOLDER, where FOLDER has npm's solc 0.8.37 installed. Writes world.json beside this file.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const here = import.meta.dirname;
const solc = createRequire(join(process.argv[2], 'package.json'))('solc');
const input = {
  language: 'Solidity',
  sources: { 'World.sol': { content: readFileSync(join(here, 'World.sol'), 'utf8') } },
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
const contracts = Object.entries(output.contracts['World.sol']).map(([name, { evm }]) => [
  name,
  { bytecode: `0x${evm.bytecode.object}`, functions: evm.methodIdentifiers },
]);
writeFileSync(join(here, 'world.json'), `${JSON.stringify(Object.fromEntries(contracts), null, 2)}\n`);
