// The handler in front of the bundle: every request is answered, even if the Wasm instance breaks.
import assert from "node:assert/strict";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, beforeEach, describe, test } from "node:test";

// The parts of a wasm-bindgen 0.2.130 bundle that the handler uses: a function that answers, one that replaces a broken instance,
// and classes whose objects belong to the instance that created them.
const BUNDLE = `
  const state = { criticalError: false, instanceId: 0 };
  globalThis.instances = 1;
  export const __worker_init_state = () => state;
  export const __wbg_reset_state = () => (globalThis.instances += 1);
  export const fetch = (request, env, ctx) => globalThis.bundle(request, env, ctx);
  class Made {
    constructor(...given) {
      Object.assign(this, { given, madeIn: globalThis.instances });
    }
    fetch(request) {
      if (this.madeIn !== globalThis.instances) throw new Error("an object of a replaced instance");
      return globalThis.object(request, this.given);
    }
  }
  export class AddressGuard extends Made {}
  export class Epochs extends Made {}
  export class Replica extends Made {}
  export class KeyGuard extends Made {
    alarm() {
      return globalThis.object("alarm", this.given);
    }
  }
`;

let folder, handler, exported, fireError;
const env = { FIRST_PARTY_ORIGINS: "https://app.example, https://www.example" };
const ask = (headers = {}) => handler.fetch(new Request("https://api.example/v1/vaults", { headers }), env, context());

/** An execution context that records the promises passed to `waitUntil`. */
function context() {
  const waits = [];
  return { waits, waitUntil: (promise) => waits.push(promise) };
}

async function assertEnvelope(response) {
  const { error } = await response.json();
  assert.equal(response.status, 500);
  assert.equal(error.code, "INTERNAL_ERROR");
  assert.match(error.request_id, /^[0-9a-f]{32}$/);
  assert.equal(error.request_id, response.headers.get("x-request-id"));
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal(response.headers.get("content-type"), "application/json");
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "edge-entry-"));
  await mkdir(join(folder, "build"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "build", "index.js"), BUNDLE);
  await copyFile(new URL("../entry.mjs", import.meta.url), join(folder, "entry.mjs"));
  globalThis.addEventListener = (_, listener) => (fireError = listener);
  exported = await import(pathToFileURL(join(folder, "entry.mjs")).href);
  handler = exported.default;
});
after(() => rm(folder, { recursive: true }));
beforeEach(() => {
  globalThis.bundle = async () => new Response("fine");
});

test("an answer of the bundle passes unchanged, and completes after its caller disconnected", async () => {
  const answer = new Response("fine");
  globalThis.bundle = async (request, given, ctx) => {
    assert.equal(given, env);
    // Simulates the first I/O of the request.
    await new Promise(setImmediate);
    assert.equal(ctx.waits.length, 1);
    return answer;
  };
  assert.equal(await ask(), answer);
});

test("an answer without I/O needs no waitUntil", async () => {
  let given;
  globalThis.bundle = async (request, env, ctx) => {
    given = ctx;
    return new Response("fine");
  };
  assert.equal((await ask()).status, 200);
  assert.deepEqual(given.waits, []);
});

test("an exception becomes the envelope", async () => {
  globalThis.bundle = () => Promise.reject(new Error("a secret"));
  const response = await ask();
  assert.ok(!(await response.clone().text()).includes("secret"));
  await assertEnvelope(response);
});

test("when the instance breaks, requests in flight get the envelope and the next request a new instance", async () => {
  const instances = globalThis.instances;
  globalThis.bundle = () => new Promise(() => {});
  const waiting = [ask(), ask(), ask()];
  fireError({ error: new Error("unreachable") });
  for (const response of await Promise.all(waiting)) await assertEnvelope(response);
  globalThis.bundle = async () => new Response("fine");
  assert.equal(await (await ask()).text(), "fine");
  assert.equal(await (await ask()).text(), "fine");
  assert.equal(globalThis.instances, instances + 1, "replaced once, not for every later request");
});

test("abandoned requests do not displace later ones", async () => {
  globalThis.bundle = () => new Promise(() => {});
  const [, ...waiting] = Array.from({ length: 10_001 }, () => ask());
  fireError({ error: new Error("unreachable") });
  const statuses = await Promise.all(waiting.map(async (answer) => (await answer).status));
  assert.deepEqual([...new Set(statuses)], [500]);
});

test("a synchronous exception is answered too", async () => {
  globalThis.bundle = () => {
    throw new Error("unreachable");
  };
  await assertEnvelope(await ask());
  globalThis.bundle = async () => new Response("fine");
  assert.equal((await ask()).status, 200);
});

test("only first-party pages may read the envelope", async () => {
  globalThis.bundle = () => Promise.reject(new Error());
  const granted = async (origin) => (await ask({ origin })).headers.get("access-control-allow-origin");
  assert.equal(await granted("https://www.example"), "https://www.example");
  assert.equal(await granted("https://evil.example"), null);
});

test("a Durable Object survives a replaced instance, and only some have alarms", async () => {
  const object = new exported.KeyGuard("state", "env");
  globalThis.object = async (what, given) => [what, ...given];
  assert.deepEqual(await object.fetch("one"), ["one", "state", "env"]);
  const instances = globalThis.instances;
  globalThis.object = async () => {
    throw new WebAssembly.RuntimeError("unreachable");
  };
  await assert.rejects(object.fetch("two"), /unreachable/);
  globalThis.object = async (what, given) => [what, ...given];
  assert.deepEqual(await object.alarm(), ["alarm", "state", "env"]);
  assert.equal(globalThis.instances, instances + 1);
  assert.deepEqual(await object.fetch("three"), ["three", "state", "env"]);
  for (const name of ["AddressGuard", "Epochs"]) assert.equal(new exported[name]().alarm, undefined, name);
});

test("an ordinary error of a Durable Object keeps the instance", async () => {
  const [object, instances] = [new exported.Epochs(), globalThis.instances];
  globalThis.object = () => Promise.reject(new Error("refused"));
  await assert.rejects(object.fetch(), /refused/);
  globalThis.object = async () => "fine";
  assert.equal(await object.fetch(), "fine");
  assert.equal(globalThis.instances, instances);
});

describe("with a collector", () => {
  const REQUEST_ID = "0af7651916cd43dd8448eb2100000001";
  const PARENT = `00-${REQUEST_ID}-b7ad6b7169203331-01`;
  const OF_CALLER = "00-11111111111111111111111111111111-2222222222222222-01";
  const traced = { ...env, OTLP_ENDPOINT: "https://collector.example/", OTLP_AUTHORIZATION: "Bearer x", TRACE_RATIO: "0.5" };
  let sent, network, runtimesFetch;

  // The handler takes the runtime's fetch with the first traced request.
  before(() => {
    runtimesFetch = globalThis.fetch;
    globalThis.fetch = (url, init) => network(url, init);
  });
  after(() => (globalThis.fetch = runtimesFetch));
  beforeEach(() => {
    sent = [];
    network = async (url, init) => {
      if (String(url).startsWith("https://collector.example")) sent.push({ url, init });
      return new Response("{}");
    };
    globalThis.bundle = async () => {
      await globalThis.fetch("https://origin.example/v1/vaults", { method: "GET", headers: { traceparent: PARENT, "x-request-id": REQUEST_ID } });
      return new Response("fine", { headers: { "x-request-id": REQUEST_ID, "x-cache": "MISS" } });
    };
  });

  /** The spans of one request. */
  async function spansOf(headers, given = traced) {
    const ctx = context();
    const response = await handler.fetch(new Request("https://api.example/v1/vaults?secret=1", { headers }), given, ctx);
    assert.equal(await response.text(), "fine");
    await Promise.all(ctx.waits);
    return sent.flatMap(({ init }) => JSON.parse(init.body).resourceSpans[0].scopeSpans[0].spans);
  }

  test("a sampled request is one span, and its call of the origin another under it", async () => {
    const [server, call] = await spansOf({});
    assert.equal(sent[0].url, "https://collector.example/v1/traces");
    assert.equal(sent[0].init.headers.authorization, "Bearer x");
    assert.deepEqual([server.traceId, server.kind, server.parentSpanId], [REQUEST_ID, 2, ""]);
    assert.deepEqual([call.traceId, call.kind, call.spanId, call.parentSpanId], [REQUEST_ID, 3, "b7ad6b7169203331", server.spanId]);
    assert.match(server.spanId, /^[0-9a-f]{16}$/);
    assert.match(server.startTimeUnixNano, /^\d{19}$/);
    assert.ok(!sent[0].init.body.includes("secret"));
    const of = (span, key) => span.attributes.find((it) => it.key === key)?.value;
    assert.deepEqual([of(server, "rds.cache"), of(server, "http.response.status_code")], [{ stringValue: "MISS" }, { intValue: "200" }]);
  });

  test("an unsampled request, and every request without a collector, sends nothing", async () => {
    const others = REQUEST_ID.replace(/00000001$/, "80000000");
    globalThis.bundle = async () => new Response("fine", { headers: { "x-request-id": others } });
    assert.deepEqual(await spansOf({}), []);
    assert.deepEqual(await spansOf({}, { ...traced, OTLP_ENDPOINT: undefined }), []);
  });

  test("a caller's trace is taken only by choice", async () => {
    assert.equal((await spansOf({ traceparent: OF_CALLER }))[0].traceId, REQUEST_ID);
    sent = [];
    const [server, call] = await spansOf({ traceparent: OF_CALLER }, { ...traced, TRACE_CALLERS: "1" });
    assert.deepEqual([server.traceId, server.parentSpanId], ["1".repeat(32), "2".repeat(16)]);
    assert.deepEqual([call.traceId, call.parentSpanId], ["1".repeat(32), server.spanId]);
  });

  test("a collector that is away costs the caller nothing", async () => {
    network = async (url) => {
      if (String(url).startsWith("https://collector.example")) throw new Error("connection refused");
      return new Response("{}");
    };
    assert.deepEqual(await spansOf({}), []);
  });
});
