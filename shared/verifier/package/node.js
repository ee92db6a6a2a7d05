// The verifier for Node: the module's bytes lie beside this file.

import { readFileSync } from 'node:fs';
import { initSync, verify } from './rds_verifier.js';

initSync({ module: readFileSync(new URL('./rds_verifier_bg.wasm', import.meta.url)) });

export { verify };
