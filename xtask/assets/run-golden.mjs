// Runs the golden vectors inside a plain wasm module: `node run-golden.mjs MODULE`.
//
// The module exports the number of vectors and the number that it does not meet. Nothing is
// imported, so what passes here passes on every host.

import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const cases = instance.exports.golden_cases() >>> 0;
const failures = instance.exports.golden_failures() >>> 0;
if (cases === 0 || failures > 0) {
  console.error(`${failures} of ${cases} vectors are not met; \`cargo test -p rds-golden\` says which`);
  process.exit(1);
}
console.log(`${cases} vectors met`);
