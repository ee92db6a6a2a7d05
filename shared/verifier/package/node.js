// The verifier for Node: reads the wasm module next to this file.

import { readFileSync } from 'node:fs';
import { initSync, verify } from './rds_verifier.js';

initSync({ module: readFileSync(new URL('./rds_verifier_bg.wasm', import.meta.url)) });

export { verify };
