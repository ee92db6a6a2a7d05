// The edge's Worker with one route more, which says how large its Wasm memory is: neither V8's own counts nor the kernel's tell that apart.
import { memories } from './memories.mjs';
import worker from './entry.mjs';

export * from './entry.mjs';

export default {
  async fetch(request, env, ctx) {
    if (!request.url.endsWith('/__memory')) return worker.fetch(request, env, ctx);
    return Response.json({ wasm: memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0) });
  },
};
