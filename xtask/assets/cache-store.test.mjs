// The cache behind workerd's Cache API, called as workerd calls it.

import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import store from "../../deploy/workerd/cache-store.mjs";

const ask = (method, url, body, headers) => store.fetch(new Request(url, { method, body, headers }));
const message = (head, body = "") => new TextEncoder().encode(`HTTP/1.1 ${head}\r\n\r\n${body}`);

test("a stored response is returned completely, with its status and age", async () => {
  const stored = message('404 Not Found\r\nCache-Control: max-age=60\r\nETag: W/"x"', "none\r\n\r\nhere");
  assert.equal((await ask("PUT", "https://cache/a?b=1", stored)).status, 204);
  const hit = await ask("GET", "https://cache/a?b=1");
  assert.equal(hit.headers.get("cf-cache-status"), "HIT");
  assert.equal(hit.headers.get("age"), "0");
  assert.equal(hit.headers.get("etag"), 'W/"x"');
  assert.equal(hit.status, 404);
  assert.equal(await hit.text(), "none\r\n\r\nhere");
});

test("another query or another named cache has its own entry", async () => {
  await ask("PUT", "https://cache/n?b=1", message("200 OK\r\nCache-Control: s-maxage=60", "x"));
  assert.equal((await ask("GET", "https://cache/n?b=2")).headers.get("cf-cache-status"), "MISS");
  const named = { "cf-cache-namespace": "other" };
  assert.equal((await ask("GET", "https://cache/n?b=1", undefined, named)).headers.get("cf-cache-status"), "MISS");
});

test("an entry expires with its lifetime; s-maxage takes precedence over max-age", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 0 });
  await ask("PUT", "https://cache/old", message("200 OK\r\nCache-Control: max-age=90, s-maxage=5", "x"));
  t.mock.timers.setTime(4_999);
  assert.equal((await ask("GET", "https://cache/old")).headers.get("age"), "4");
  t.mock.timers.setTime(5_000);
  assert.equal((await ask("GET", "https://cache/old")).headers.get("cf-cache-status"), "MISS");
});

test("responses that must not be shared are not stored", async () => {
  for (const refusal of ["no-store", "private, max-age=9", "no-cache", "public"]) {
    await ask("PUT", "https://cache/secret", message(`200 OK\r\nCache-Control: ${refusal}`, "x"));
    assert.equal((await ask("GET", "https://cache/secret")).headers.get("cf-cache-status"), "MISS");
  }
});

test("a purge reports whether there was an entry", async () => {
  await ask("PUT", "https://cache/p", message("200 OK\r\nCache-Control: max-age=60", "x"));
  assert.equal((await ask("PURGE", "https://cache/p")).status, 200);
  assert.equal((await ask("PURGE", "https://cache/p")).status, 404);
});

test("memory is bounded: the least recently used entry is evicted, and an oversized one is refused", async () => {
  const big = "y".repeat(7 * 1024 * 1024);
  for (let n = 0; n < 9; n += 1) {
    await ask("PUT", `https://cache/big${n}`, message("200 OK\r\nCache-Control: max-age=60", big));
    await ask("GET", "https://cache/big0");
  }
  await ask("PUT", "https://cache/big9", message("200 OK\r\nCache-Control: max-age=60", big));
  assert.equal((await ask("GET", "https://cache/big0")).headers.get("cf-cache-status"), "HIT");
  assert.equal((await ask("GET", "https://cache/big1")).headers.get("cf-cache-status"), "MISS");
  const giant = message("200 OK\r\nCache-Control: max-age=60", big + big);
  assert.equal((await ask("PUT", "https://cache/giant", giant)).status, 413);
});

test("many small entries stay within the memory limit", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const held = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1024 / 1024;
  };
  const fields = Array.from({ length: 12 }, (_, n) => `X-Field-${n}: ${"v".repeat(30)}`).join("\r\n");
  const small = message(`200 OK\r\nCache-Control: max-age=60\r\n${fields}`, "x");
  for (let n = 0; n < 120_000; n += 1) await ask("PUT", `https://cache/small${n}`, small);
  assert.equal((await ask("GET", "https://cache/small119999")).headers.get("cf-cache-status"), "HIT");
  const megabytes = held();
  assert.ok(megabytes < 128, `${Math.round(megabytes)} MB for a store of 64`);
});
