// Runs the golden vectors inside a plain wasm module: `node run-golden.mjs MODULE`.
//
// The module exports the number of vectors and the number of differing ones. It imports nothing, so the result does not depend on
// the host.

import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const cases = instance.exports.golden_cases() >>> 0;
const failures = instance.exports.golden_failures() >>> 0;
if (cases === 0 || failures > 0) {
  console.error(`${failures} of ${cases} vectors differ; \`cargo test -p rds-golden\` lists them`);
  process.exit(1);
}
console.log(`${cases} vectors reproduced`);
