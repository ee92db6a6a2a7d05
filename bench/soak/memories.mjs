// Notes the memory of every Wasm instance that is made from here on: imported before the module that makes one.
const { Instance } = WebAssembly;

export const memories = [];

WebAssembly.Instance = class extends Instance {
  constructor(module, imports) {
    super(module, imports);
    const exported = Object.values(this.exports).filter((value) => value instanceof WebAssembly.Memory);
    // An instance that broke is replaced, and its memory goes with it.
    if (exported.length > 0) memories.splice(0, memories.length, ...exported);
  }
};
