// Records the memory of every Wasm instance created later. Must be imported before the module that creates one.
const { Instance } = WebAssembly;

export const memories = [];

WebAssembly.Instance = class extends Instance {
  constructor(module, imports) {
    super(module, imports);
    const exported = Object.values(this.exports).filter((value) => value instanceof WebAssembly.Memory);
    // A broken instance is replaced, so its memory is dropped here.
    if (exported.length > 0) memories.splice(0, memories.length, ...exported);
  }
};
