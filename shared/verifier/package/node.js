// The verifier for Node: reads the wasm module next to this file.

import { readFileSync } from 'node:fs';
import { initSync, ReadAgain, verify } from './rds_verifier.js';
import { readAgain as run } from './read-again.js';

initSync({ module: readFileSync(new URL('./rds_verifier_bg.wasm', import.meta.url)) });

export const readAgain = (answer, endpoints, options) => run(ReadAgain, answer, endpoints, options);
export { verify };
