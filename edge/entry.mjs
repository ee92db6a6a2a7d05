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
  if (!env.OTLP_ENDPOINT) return untraced(request, env, ctx);
  watchCalls();
  const began = Date.now();
  const response = await untraced(request, env, ctx);
  try {
    trace(request, response, began, env, ctx);
  } catch (error) {
    // A fault of the traces must not fail the request.
    console.error(`a request could not be traced: ${error.message}`);
  }
  return response;
}

async function untraced(request, env, ctx) {
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

/** `traceparent` of W3C Trace Context, version 00: the trace and the span that caused the request. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/;
/** Maximum number of requests whose calls to the origin are kept until their spans are sent. */
const MAX_TRACED = 1_000;
/** Spans of calls to the origin by request id, until the span of their request is sent. */
const calls = new Map();
/** The runtime's `fetch`, once calls are watched. */
let fetchPlain;
let collectorFailed = false;

/** Measures the calls to the origin whose trace is recorded: the instance gave them a `traceparent`. */
function watchCalls() {
  if (fetchPlain) return;
  fetchPlain = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    const [, , id] = TRACEPARENT.exec(init?.headers?.traceparent ?? "") ?? [];
    if (!id) return fetchPlain(url, init);
    const request = init.headers["x-request-id"];
    const kept = calls.get(request) ?? [];
    // A call that is made again has the same span.
    const call = kept.find((known) => known.id === id) ?? { id, began: Date.now(), method: init.method ?? "GET" };
    if (!kept.includes(call)) kept.push(call);
    if (calls.size >= MAX_TRACED) calls.delete(calls.keys().next().value);
    calls.set(request, kept);
    try {
      const response = await fetchPlain(url, init);
      call.status = response.status;
      return response;
    } finally {
      call.ended = Date.now();
    }
  };
}

/** Sends the spans of a request if it is sampled. The instance decides in the same way, by the request's id (edge/src/origin_link/calls.rs). */
function trace(request, response, began, env, ctx) {
  const id = response.headers.get("x-request-id") ?? "";
  const below = Math.floor(Number(env.TRACE_RATIO?.trim() || 0.01) * 2 ** 32);
  if (!(Number.parseInt(id.slice(-8), 16) < below)) return;
  const isCallersTaken = ["1", "true"].includes(env.TRACE_CALLERS?.trim());
  const [, traceId = id, parentSpanId = ""] = (isCallersTaken && TRACEPARENT.exec(request.headers.get("traceparent") ?? "")) || [];
  const spanId = crypto.randomUUID().replaceAll("-", "").slice(16);
  const { pathname } = new URL(request.url);
  const attributes = { "http.request.method": request.method, "http.response.status_code": response.status, "rds.request_id": id };
  // The path of an unknown route is a stranger's text.
  if (response.status !== 404) attributes["url.path"] = pathname.slice(0, 240);
  const cache = response.headers.get("x-cache");
  if (cache) attributes["rds.cache"] = cache;
  const spans = [span({ traceId, spanId, parentSpanId, name: `${request.method} at the edge`, kind: 2, began, status: response.status }, attributes)];
  for (const call of calls.get(id) ?? []) {
    const of = { traceId, spanId: call.id, parentSpanId: spanId, name: "call of the origin", kind: 3, ...call };
    spans.push(span(of, { "http.request.method": call.method, "http.response.status_code": call.status }));
  }
  calls.delete(id);
  ctx.waitUntil(send(spans, env));
}

/** A span as OTLP's JSON: ids in hexadecimal, instants in nanoseconds as text. Kind 2 answers a request, kind 3 makes one. */
function span({ traceId, spanId, parentSpanId, name, kind, began, ended = Date.now(), status }, attributes) {
  const known = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const value = (it) => (typeof it === "number" ? { intValue: String(it) } : { stringValue: it });
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startTimeUnixNano: `${began}000000`,
    endTimeUnixNano: `${ended}000000`,
    attributes: known.map(([key, it]) => ({ key, value: value(it) })),
    status: { code: status === undefined || status >= 500 ? 2 : 0 },
  };
}

/** Sends spans to the collector. A failure is logged once an isolate, and costs the request nothing. */
async function send(spans, env) {
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "rds-edge" } }] };
  const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "rds-edge" }, spans }] }] });
  const headers = { "content-type": "application/json" };
  if (env.OTLP_AUTHORIZATION) headers.authorization = env.OTLP_AUTHORIZATION;
  const url = `${env.OTLP_ENDPOINT.trim().replace(/\/+$/, "")}/v1/traces`;
  try {
    const response = await fetchPlain(url, { method: "POST", headers, body, signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`it answered ${response.status}`);
  } catch (error) {
    if (!collectorFailed) console.error(`the collector does not accept traces: ${error.message}`);
    collectorFailed = true;
  }
}
