// The Worker with a clock that tests move, and a link to the replica's Durable Object that tests damage. Main module of both isolates.
//
// `/__test?ahead=5000` sets the clock five seconds ahead of the machine's. `/__test?damage=segments:byte:2` damages the next two answers to
// `segments`: `byte` changes the last byte, `half` breaks off in the middle. `/__test?rot=NAME&object=f2-0`
// changes a segment on the disk of that Durable Object.

import worker, { Replica as Original } from "./entry.mjs";

export { AddressGuard, Epochs, KeyGuard } from "./entry.mjs";

/** The Durable Object on a disk whose content changes by itself. */
export class Replica extends Original {
  #sql;

  constructor(state, env) {
    super(state, env);
    this.#sql = state.storage.sql;
  }

  fetch(request) {
    const name = request.headers.get("x-rot");
    if (!name) return super.fetch(request);
    const { rowsWritten } = this.#sql.exec("UPDATE segments SET bytes = zeroblob(length(bytes)) WHERE name = ?", name);
    return new Response(null, { status: rowsWritten === 1 ? 204 : 404 });
  }
}

const machineClock = Date.now;
let ahead = 0;
let damage = { to: "", how: "", times: 0 };
/** Number of answers that were damaged. */
let damaged = 0;

// The Worker and its Durable Objects ask nothing else for the time.
Date.now = () => machineClock() + ahead;

/** An answer of the Durable Object, damaged if that is wanted. */
async function changed(answer, message) {
  if (damage.times === 0 || JSON.parse(message).do !== damage.to) return answer;
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (bytes.length === 0) return answer;
  damage.times -= 1;
  damaged += 1;
  if (damage.how === "byte") {
    bytes[bytes.length - 1] ^= 1;
    return new Response(bytes, { headers: answer.headers });
  }
  let isSent = false;
  const broken = new ReadableStream({
    pull(controller) {
      if (isSent) controller.error(new Error("the connection broke"));
      else controller.enqueue(bytes.subarray(0, bytes.length >> 1));
      isSent = true;
    },
  });
  return new Response(broken, { headers: answer.headers });
}

const link = (namespace) => ({
  getByName: (name) => ({
    fetch: async (url, init) => changed(await namespace.getByName(name).fetch(url, init), init.headers["x-guard"]),
  }),
});

export default {
  fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/__test") return worker.fetch(request, { ...env, REPLICA: link(env.REPLICA) }, ctx);
    if (searchParams.has("ahead")) ahead = Number(searchParams.get("ahead"));
    if (searchParams.has("damage")) {
      const [to, how, times] = searchParams.get("damage").split(":");
      damage = { to, how, times: Number(times) };
    }
    const rot = searchParams.get("rot");
    if (rot) return env.REPLICA.getByName(searchParams.get("object")).fetch("http://test/", { headers: { "x-rot": rot } });
    return new Response(null, { headers: { "x-damaged": String(damaged) } });
  },
};
