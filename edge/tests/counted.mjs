// A second isolate of the Worker. Its calls to Durable Objects are counted, those to the tag versions can be made to fail, and its assets can be
// unbound.

import worker from "./entry.mjs";

const asked = { KEYS: 0, EPOCHS: 0 };
let [broken, unbound] = [false, false];

/** A Durable Object namespace that counts the calls to its objects. */
const counted = (name, namespace) => ({
  getByName(object) {
    const stub = namespace.getByName(object);
    return {
      fetch(url, init) {
        asked[name] += 1;
        return broken && name === "EPOCHS" ? Promise.reject(new Error("the connection is broken")) : stub.fetch(url, init);
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
    if (pathname === "/unbound") {
      unbound = request.method === "PUT";
      return new Response(null, { status: 204 });
    }
    const bindings = Object.keys(asked).map((name) => [name, counted(name, env[name])]);
    return worker.fetch(request, { ...env, ...Object.fromEntries(bindings), ...(unbound && { ASSETS: undefined }) }, ctx);
  },
};
