// The Worker of a second isolate, whose way to the object of the versions is counted and can be broken.

import worker from "./entry.mjs";

let asked = 0;
let broken = false;

/** A namespace whose objects are counted on their way. */
const counted = (namespace) => ({
  getByName(name) {
    const stub = namespace.getByName(name);
    return {
      fetch(url, init) {
        asked += 1;
        return broken ? Promise.reject(new Error("the way is broken")) : stub.fetch(url, init);
      },
    };
  },
});

export default {
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/counted") return new Response(null, { headers: { "x-asked": String(asked) } });
    if (pathname === "/broken") {
      broken = request.method === "PUT";
      return new Response(null, { status: 204 });
    }
    return worker.fetch(request, { ...env, EPOCHS: counted(env.EPOCHS) }, ctx);
  },
};
