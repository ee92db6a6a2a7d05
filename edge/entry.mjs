// The Worker's module: the bundle that worker-build makes, behind a handler that always answers.
//
// worker-build's own entry point wraps every request in proxies, and leaves a request whose Wasm instance breaks without
// an answer. Here the handler is called directly, the broken instance is replaced before the next call, and everyone who
// was waiting for the old one is told in the error envelope. Rests on worker-build 0.8.7: its class calls
// `exports.fetch(request, this.env, this.ctx)`, its constructor re-instantiates after a critical error, and its state is
// `globalThis.__worker_init_state`.
import Worker from "./build/index.js";

export * from "./build/index.js";

const state = globalThis.__worker_init_state;
const handle = Worker.prototype.fetch;

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
      if (state.criticalError) new Worker(ctx, env);
      handle.call({ env, ctx }, request).then(settle, () => settle());
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
