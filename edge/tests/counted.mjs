// The Worker of a second isolate, whose ways to the objects are counted, and whose way to that of the versions can be broken.

import worker from "./entry.mjs";

const asked = { KEYS: 0, EPOCHS: 0 };
let broken = false;

/** A namespace whose objects are counted on their way. */
const counted = (name, namespace) => ({
  getByName(object) {
    const stub = namespace.getByName(object);
    return {
      fetch(url, init) {
        asked[name] += 1;
        return broken && name === "EPOCHS" ? Promise.reject(new Error("the way is broken")) : stub.fetch(url, init);
      },
    };
  },
});

export default {
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/counted") {
      return new Response(null, { headers: { "x-asked": String(asked.EPOCHS), "x-asked-keys": String(asked.KEYS) } });
    }
    if (pathname === "/broken") {
      broken = request.method === "PUT";
      return new Response(null, { status: 204 });
    }
    const ways = Object.keys(asked).map((name) => [name, counted(name, env[name])]);
    return worker.fetch(request, { ...env, ...Object.fromEntries(ways) }, ctx);
  },
};
