// The edge's Worker with an additional route that returns the size of its Wasm memory, which neither V8 nor the kernel reports separately.
import { memories } from './memories.mjs';
import worker from './entry.mjs';

export * from './entry.mjs';

export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith('/__memory')) return worker.fetch(request, env, ctx);
    return Response.json({ wasm: memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0) });
  },
};
