// The verifier for browsers: fetches the wasm module next to this file.

import init, { verify } from './rds_verifier.js';

await init();

export { verify };
