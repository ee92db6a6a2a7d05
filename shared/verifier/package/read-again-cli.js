#!/usr/bin/env node
// Reads again, through nodes that you trust, what a vault's score or the answers about an asset were read from.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readAgain } from './node.js';

const USAGE = `Usage: read-again --rpc URL [--rpc URL]... [--json] [FILE]

Repeats every call in the evidence of a vault's inputs, at the same block, through
JSON-RPC endpoints that you trust, and computes the score again from the inputs.
FILE is the answer of /v1/vault/{network}/{address}, or only its score_provenance;
or the answer of /v1/assets/{slug}, whose answers are repeated and whose score is not
computed again. Without FILE it is read from standard input. Several endpoints must all confirm.
Nothing is sent anywhere but to these endpoints.

  --rpc URL   an endpoint; at most 8
  --json      print the whole report as JSON

Exit status: 0 everything is confirmed; 1 something is contradicted;
2 something was not checked; 3 the arguments or the input cannot be used.`;

const EXITS = { confirmed: 0, contradicted: 1, not_checked: 2 };
const WORDS = { confirmed: 'confirmed', contradicted: 'CONTRADICTED', not_checked: 'not checked' };
const SCORE = { ok: 'confirmed', failed: 'CONTRADICTED', unchecked: 'not checked' };
const column = (word) => word.padEnd(14);

function lines({ summary, inputs, stated, score }) {
  const out = [];
  for (const { name, value, outcome, said, readAt, findings } of inputs) {
    out.push(`${column(WORDS[outcome])}${name} = ${value}: ${said}`);
    if (readAt) {
      const { chainId, blockNumber, blockHash, calls, simulated, agreed, asked } = readAt;
      out.push(`${column('')}block ${blockNumber} ${blockHash} of chain ${chainId}, read alike by ${agreed} of ${asked} operators`);
      if (simulated > 0) out.push(`${column('')}${simulated} of ${calls} calls simulated: as if accounts had other code or storage`);
    }
    for (const finding of findings) {
      if (finding.endpoint) out.push(`${column('')}${finding.endpoint}: ${finding.said}`);
      if (!finding.call) continue;
      const { place, method, contract, data, published, node } = finding.call;
      out.push(`${column('')}  call ${place}: ${method} ${contract} ${data ?? ''}`.trimEnd());
      if (node !== null) out.push(`${column('')}  published ${published ?? 'no answer'}`, `${column('')}  node      ${node}`);
    }
  }
  if (score) out.push(`${column(SCORE[score.outcome])}score: ${score.said}`);
  out.push('', summary);
  if (stated > 0) out.push(`${stated} further inputs were stated by a source, which no chain can confirm.`);
  return out;
}

function unusable(message) {
  console.error(message);
  process.exitCode = 3;
}

function given() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rpc: { type: 'string', multiple: true }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  return { ...values, files: positionals };
}

async function main() {
  const { rpc = [], json, help, files } = given();
  if (help) return console.log(USAGE);
  if (rpc.length === 0 || files.length > 1) return unusable(USAGE);
  const report = await readAgain(readFileSync(files[0] ?? 0, 'utf8'), rpc);
  console.log(json ? JSON.stringify(report, null, 2) : lines(report).join('\n'));
  const open = report.score?.outcome === 'unchecked' && report.outcome === 'confirmed';
  process.exitCode = report.score?.outcome === 'failed' ? EXITS.contradicted : EXITS[open ? 'not_checked' : report.outcome];
}

await main().catch((fault) => unusable(fault.message));
