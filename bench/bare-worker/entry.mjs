// The bare Worker's main module: passes each request to the crate.
import { fetch } from "./build/index.js";

export default { fetch };
