// Records the memory of the newest Wasm instance. Must be imported before the module that creates the instance.
const { Instance } = WebAssembly;

export const memories = [];

WebAssembly.Instance = class extends Instance {
  constructor(module, imports) {
    super(module, imports);
    const exported = Object.values(this.exports).filter((value) => value instanceof WebAssembly.Memory);
    // The Worker replaces a broken instance, so only the newest instance's memory counts.
    if (exported.length > 0) memories.splice(0, memories.length, ...exported);
  }
};
