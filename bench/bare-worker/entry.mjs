// The bare Worker's module: each request goes straight to the crate.
import { fetch } from "./build/index.js";

export default { fetch };
