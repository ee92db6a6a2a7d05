// Tag changes on real workerd: two isolates with one Durable Object and one shared cache.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Edge, Origin, sleep, until } from "./stack.mjs";

const [, , stack] = JSON.parse(process.env.RDS_EDGE_STACKS);
const origin = new Origin();
const edge = new Edge(stack);
const isolates = [stack.port, stack.twin];
const cache = ({ headers }) => headers["x-cache"];
const versionOf = ({ headers }) => Number(headers.etag.match(/v(\d+)/)[1]);
let callers = 0;

before(async () => {
  await origin.listen(stack.origin);
  await edge.start();
});
after(async () => {
  if (edge.said) console.error(`workerd said:\n${edge.said.slice(-2_000)}`);
  await edge.kill();
  origin.close();
});

/** A read from a new address at an isolate. */
const read = (page, port = stack.port) => {
  callers += 1;
  return edge.get(`/v1/vaults?limit=${page}`, { port, ip: `198.18.${callers >> 8}.${callers & 255}` });
};

/** Commits a change; resolves when the edge has acknowledged it. */
async function publish() {
  origin.version += 1;
  const { status } = await edge.tellTags(`vaults=${origin.version}`);
  assert.equal(status, 204);
}

const asked = async () => Number((await edge.get("/counted", { port: stack.twin })).headers["x-asked"]);

test("a change shows on the next request at every isolate, despite its own and shared cached responses", async () => {
  for (const port of isolates) await read(1, port);
  for (const port of isolates) assert.equal(cache(await read(1, port)), "HIT");
  await read(2);
  for (let round = 0; round < 5; round += 1) {
    await publish();
    for (const port of round % 2 ? isolates : isolates.toReversed()) {
      const [first, second] = [await read(1, port), await read(1, port)];
      assert.deepEqual([versionOf(first), versionOf(second), cache(second)], [origin.version, origin.version, "HIT"]);
    }
    // Only the first isolate has read this page before, so the twin finds an outdated response in the shared cache.
    assert.equal(versionOf(await read(2, stack.twin)), origin.version);
  }
});

test("a retired basket version is 410 at once at every isolate, despite cached responses", async () => {
  const version = (port, headers = {}) => {
    callers += 1;
    return edge.get("/v1/baskets/b/version/v1", { port, ip: `198.18.${callers >> 8}.${callers & 255}`, ...headers });
  };
  for (const port of isolates) {
    await version(port);
    const warm = await version(port);
    assert.deepEqual([warm.status, cache(warm)], [200, "HIT"]);
    assert.equal(warm.headers["cache-control"], "public, max-age=31536000, immutable");
    assert.equal((await version(port, { "if-none-match": '"hash"' })).status, 304);
  }
  origin.retired = true;
  origin.baskets += 1;
  assert.equal((await edge.tellTags(`baskets=${origin.baskets}`)).status, 204);
  for (const port of [...isolates, ...isolates]) {
    const gone = await version(port, { "if-none-match": '"hash"' });
    assert.deepEqual([gone.status, gone.headers["cache-control"]], [410, "no-store"]);
    assert.match(gone.headers.link, /version\/next>; rel="successor-version"/);
  }
});

test("under frequent changes no request that begins after an acknowledgement sees the earlier state", async () => {
  let over = false;
  const seen = [];
  const reader = async (port, page) => {
    while (!over) {
      const reply = await read(page, port).catch(() => undefined);
      if (reply?.status === 200) seen.push({ begun: reply.begun, version: versionOf(reply) });
    }
  };
  const readers = Promise.all([1, 2, 3, 4].flatMap((page) => isolates.map((port) => reader(port, page))));
  const acknowledged = [];
  try {
    for (let change = 0; change < 6; change += 1) {
      await publish();
      acknowledged.push({ at: performance.now(), version: origin.version });
    }
    const enough = seen.length + 100;
    await until("a hundred more responses arrived", 20, () => seen.length >= enough);
  } finally {
    over = true;
    await readers;
  }
  for (const { at, version } of acknowledged) {
    const late = seen.filter((reply) => reply.begun > at);
    assert.ok(late.length > 0);
    assert.deepEqual(late.filter((reply) => reply.version < version), [], `after ${version} was acknowledged`);
  }
  assert.ok(origin.pages < seen.length, `${origin.pages} pages for ${seen.length} requests: cached responses were served in between`);
});

test("an answer read before a change and sent after it is not cached as newer", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  origin.beforeAnswer = () => held;
  const [before, pages] = [origin.version, origin.pages];
  const slow = read(10);
  await until("the origin has read the old state", 10, () => origin.pages > pages);
  await publish();
  origin.beforeAnswer = async () => {};
  release();
  assert.equal(versionOf(await slow), before, "it began before the change");
  const [first, second] = [await read(10), await read(10)];
  assert.deepEqual([versionOf(first), versionOf(second), cache(second)], [before + 1, before + 1, "HIT"]);
});

test("an isolate asks the Durable Object about once a second under any load", async () => {
  await read(1, stack.twin);
  const [begun, before] = [performance.now(), await asked()];
  let served = 0;
  while (performance.now() - begun < 5_000) {
    const replies = await Promise.all(Array.from({ length: 16 }, () => read(1, stack.twin)));
    served += replies.filter((reply) => reply.status === 200).length;
  }
  const seconds = (performance.now() - begun) / 1000;
  const calls = (await asked()) - before;
  console.log(`${served} requests in ${seconds.toFixed(1)} s: ${calls} calls to the Durable Object`);
  assert.ok(served > 200, String(served));
  assert.ok(calls >= Math.floor(seconds) - 1 && calls <= Math.ceil(seconds / 0.7) + 1, `${calls} calls`);
});

test("versions survive the eviction of the Durable Object and a crash of the runtime", async () => {
  await publish();
  await sleep(12_000);
  // A late repetition does not decrease the version.
  assert.equal((await edge.tellTags("vaults=1")).status, 204);
  for (const port of isolates) assert.equal(versionOf(await read(20, port)), origin.version);
  await edge.kill();
  await edge.start();
  // The origin's state is now older than the Durable Object's version, so it is never treated as current.
  const newest = origin.version;
  origin.version = newest - 1;
  await read(21);
  const pages = origin.pages;
  for (const port of isolates) assert.equal(versionOf(await read(21, port)), newest - 1);
  assert.equal(origin.pages, pages + 2, "it was asked again each time");
  origin.version = newest;
  await read(21);
  assert.equal(cache(await read(21)), "HIT");
});

test("the fail-safe mode shows at every isolate once acknowledged, also on cached responses, and ends likewise", async () => {
  const mode = ({ status, headers }) => [status, headers["x-service-failsafe-mode"]];
  const setMode = async (version) => assert.equal((await edge.tellTags(`fail_safe=${version}`)).status, 204);
  for (const port of isolates) await read(40, port);
  await setMode(4 * 100 + 1);
  for (const port of isolates) {
    const reply = await read(40, port);
    assert.deepEqual([...mode(reply), cache(reply)], [200, "degraded", "HIT"]);
  }
  await setMode(4 * 101 + 2);
  for (const port of [...isolates, ...isolates]) {
    const reply = await read(40, port);
    assert.deepEqual([...mode(reply), JSON.parse(reply.body).error.code], [503, "fail_closed", "FAIL_CLOSED"]);
    assert.equal(reply.headers["retry-after"], "60");
  }
  await setMode(4 * 102);
  for (const port of isolates) assert.deepEqual(mode(await read(40, port)), [200, undefined]);
});

test("the status feed reports down while the origin cannot be reached", async () => {
  origin.isAway = true;
  for (const port of isolates) {
    const { status, headers, body } = await edge.get("/v1/status", { port, ip: "198.19.0.1" });
    const feed = JSON.parse(body);
    assert.deepEqual([status, feed.status, feed.components[0].name, headers["cache-control"]], [200, "down", "api", "no-store"]);
    assert.equal(headers["x-ratelimit-limit"], "60");
  }
  origin.isAway = false;
});

test("without the Durable Object cached responses are judged by age", async () => {
  await read(30, stack.twin);
  await edge.send("PUT", "/broken", {}, undefined, stack.twin);
  const before = await asked();
  await sleep(1_100);
  const begun = performance.now();
  for (let n = 0; n < 40; n += 1) {
    const reply = await read(30, stack.twin);
    assert.deepEqual([reply.status, cache(reply)], [200, "HIT"]);
  }
  const calls = (await asked()) - before;
  assert.ok(calls <= 2 + (performance.now() - begun) / 700, `${calls} calls: requests do not each call it`);
  await edge.send("DELETE", "/broken", {}, undefined, stack.twin);
  await sleep(1_100);
  await publish();
  assert.equal(versionOf(await read(30, stack.twin)), origin.version, "tag versions count again once it is back");
});
