// The Worker's module: a handler around the Wasm crate that always answers.
//
// After a trap a Wasm instance is broken but its isolate lives on. The instance is replaced before the next call, Durable Objects are
// created again in the new instance, and requests in flight get the error envelope. The replacement relies on wasm-bindgen 0.2.130
// and worker 0.8.7: `__wbg_reset_state` instantiates the module again, and `__worker_init_state` returns the crate's state.
import * as instance from "./build/index.js";

const state = instance.__worker_init_state();

/**
 * Maximum size of `waiting`, above the number of requests that an isolate has in flight. Without it, requests whose callers
 * disconnected would accumulate; the oldest is dropped.
 */
const MAX_WAITING = 10_000;
/** Microtask turns to wait for an answer that needs no I/O; such an answer currently takes two. */
const TURNS = 4;
/** Resolvers of the requests in flight. When the instance breaks, its memory and thus their answers are lost, so all are resolved. */
const waiting = new Set();

// Only the instance throws uncaught errors: a trap, or an exception that unwound its stack.
addEventListener("error", giveUp);

function giveUp() {
  state.criticalError = true;
  for (const settle of waiting) settle();
  waiting.clear();
}

/** Replaces a broken instance. */
function mend() {
  if (!state.criticalError) return;
  instance.__wbg_reset_state();
  state.criticalError = false;
  state.instanceId += 1;
}

/** Wraps a Durable Object class so that its objects survive a replacement of the instance. */
function durable(Class) {
  return class {
    #given;
    #object;
    #instance;

    constructor(...given) {
      this.#given = given;
      this.#current();
    }

    #current() {
      mend();
      if (this.#instance !== state.instanceId) {
        this.#object = new Class(...this.#given);
        this.#instance = state.instanceId;
      }
      return this.#object;
    }

    static {
      // `alarm` is defined only if the class has it, because the runtime calls it where it exists.
      for (const name of ["fetch", "alarm"].filter((name) => name in Class.prototype)) {
        this.prototype[name] = async function call(...given) {
          try {
            return await this.#current()[name](...given);
          } catch (error) {
            if (error instanceof WebAssembly.RuntimeError) giveUp();
            throw error;
          }
        };
      }
    }
  };
}

export const AddressGuard = durable(instance.AddressGuard);
export const Epochs = durable(instance.Epochs);
export const KeyGuard = durable(instance.KeyGuard);
export const Replica = durable(instance.Replica);

/** Whether a request may be for a page of the explorer: not one for the API, whose requests go straight to the instance. */
function isPage({ url }) {
  const path = url.indexOf("/", url.indexOf("//") + 2);
  return path >= 0 && !url.startsWith("/v1/", path) && !url.startsWith("/ready", path);
}

export default {
  async fetch(request, env, ctx) {
    if (isPage(request)) {
      const page = await instance.explore(request, env, (asked) => answer(asked, env, ctx));
      if (page) return page;
    }
    return answer(request, env, ctx);
  },
};

/** The instance's answer to a request. */
async function answer(request, env, ctx) {
  let [settle, isOut] = [undefined, true];
  const answered = new Promise((resolve) => {
    settle = (answer) => {
      isOut = false;
      resolve(answer);
    };
  });
  const [oldest] = waiting;
  if (waiting.size >= MAX_WAITING) waiting.delete(oldest);
  waiting.add(settle);
  try {
    mend();
    instance.fetch(request, env, ctx).then(settle, () => settle());
  } catch {
    giveUp();
  }
  for (let turn = 0; isOut && turn < TURNS; turn += 1) await undefined;
  // `waitUntil` continues a request after its caller disconnected, so that its answer is cached. An answer that is ready by now
  // needed no I/O, so its caller cannot have disconnected before it was ready.
  if (isOut) ctx.waitUntil(answered);
  const settled = await answered;
  waiting.delete(settle);
  // Built here, because a response belongs to the request in which it was created.
  return settled ?? internalError(request, env);
}

/** The error envelope, written without Wasm. */
function internalError(request, env) {
  const id = crypto.randomUUID().replaceAll("-", "");
  const headers = new Headers({
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-request-id": id,
    vary: "Origin",
  });
  const origin = request.headers.get("origin");
  const ours = (env.FIRST_PARTY_ORIGINS ?? "").split(",").map((entry) => entry.trim().toLowerCase());
  if (origin && ours.includes(origin)) headers.set("access-control-allow-origin", origin);
  const message = "internal error; quote the request id when you report it";
  const body = JSON.stringify({ error: { code: "INTERNAL_ERROR", message, request_id: id } });
  return new Response(body, { status: 500, headers });
}
