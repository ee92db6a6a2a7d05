// The verifier for browsers: the module is fetched from beside this file.

import init, { verify } from './rds_verifier.js';

await init();

export { verify };
