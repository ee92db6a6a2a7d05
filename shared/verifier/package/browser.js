// The verifier for browsers: fetches the wasm module next to this file.

import init, { ReadAgain, verify } from './rds_verifier.js';
import { readAgain as run } from './read-again.js';

await init();

export const readAgain = (answer, endpoints, options) => run(ReadAgain, answer, endpoints, options);
export { verify };
