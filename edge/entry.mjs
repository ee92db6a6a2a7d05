// The Worker's module: what wasm-bindgen makes of the crate, behind a handler that always answers.
//
// A Wasm instance that trapped is broken, and the isolate outlives it. It is replaced before the next call, objects are made
// anew in the new one, and everyone who was waiting for the old one is told in the error envelope. Rests on wasm-bindgen 0.2.130
// and worker 0.8.7: `__wbg_reset_state` instantiates the module again, and the crate's state is what `__worker_init_state` gives.
import * as instance from "./build/index.js";

const state = instance.__worker_init_state();

/** More than an isolate has in flight; callers who went away would otherwise pile up here. The oldest make room for those who come. */
const MOST_WAITING = 10_000;
/** Turns of the microtask queue for which an answer that needs nothing from elsewhere is not there yet: two, as it stands. */
const TURNS = 4;
/** What to call for each request in flight when the instance breaks: its memory, and with it every answer, is gone. */
const waiting = new Set();

// Nothing but the instance throws where nobody catches: a trap, or an exception that tore through its stack.
addEventListener("error", giveUp);

function giveUp() {
  state.criticalError = true;
  for (const settle of waiting) settle();
  waiting.clear();
}

/** Puts a new instance in the place of one that broke. */
function mend() {
  if (!state.criticalError) return;
  instance.__wbg_reset_state();
  state.criticalError = false;
  state.instanceId += 1;
}

/** A class of objects that outlive the instance that they were made in. */
function lasting(Class) {
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
      // The runtime calls `alarm` where there is one.
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

export const AddressGuard = lasting(instance.AddressGuard);
export const Epochs = lasting(instance.Epochs);
export const KeyGuard = lasting(instance.KeyGuard);

export default {
  async fetch(request, env, ctx) {
    let [settle, isOut] = [undefined, true];
    const answered = new Promise((resolve) => {
      settle = (answer) => {
        isOut = false;
        resolve(answer);
      };
    });
    const [oldest] = waiting;
    if (waiting.size >= MOST_WAITING) waiting.delete(oldest);
    waiting.add(settle);
    try {
      mend();
      instance.fetch(request, env, ctx).then(settle, () => settle());
    } catch {
      giveUp();
    }
    for (let turn = 0; isOut && turn < TURNS; turn += 1) await undefined;
    // A read whose caller went away still ends, so that its answer is kept and nothing of it stays behind. One that is there has
    // waited for nothing, and nobody can have gone away meanwhile.
    if (isOut) ctx.waitUntil(answered);
    const answer = await answered;
    waiting.delete(settle);
    // Made here and not where the failure was noticed: a response belongs to the request that it was made in.
    return answer ?? internalError(request, env);
  },
};

/** The envelope of an error that no Rust is left to write. */
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
  const message = "something broke on our side; the request id helps us find it";
  const body = JSON.stringify({ error: { code: "INTERNAL_ERROR", message, request_id: id } });
  return new Response(body, { status: 500, headers });
}
