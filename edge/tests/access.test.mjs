// Tests of limits and keys on real workerd, against the real clock. They run concurrently, and each waits as little as possible.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { Edge, Origin, WINDOW_MILLIS, sleep, until, windowEndMillis } from "./stack.mjs";

const [steady, fragile] = JSON.parse(process.env.RDS_EDGE_STACKS);
const origins = [new Origin(), new Origin()];
const [origin, fragileOrigin] = origins;
const edge = new Edge(steady);
const fragileEdge = new Edge(fragile);
const admitted = (replies) => replies.filter((reply) => reply.status === 200);
const remaining = (replies) => replies.map((reply) => Number(reply.headers["x-ratelimit-remaining"]));
const countdown = (from, to = 0) => Array.from({ length: from - to + 1 }, (_, n) => from - n);
const descending = (numbers) => numbers.sort((a, b) => b - a);

before(async () => {
  await origin.listen(steady.origin);
  await fragileOrigin.listen(fragile.origin);
  await Promise.all([edge.start(), fragileEdge.start()]);
  // Tests that must stay within one minute take up to half a minute.
  if (windowEndMillis() - Date.now() < 32_000) await sleep(windowEndMillis() - Date.now());
});
after(async () => {
  for (const one of [edge, fragileEdge]) if (one.said) console.error(`workerd said:\n${one.said.slice(-2_000)}`);
  await Promise.all([edge.kill(), fragileEdge.kill()]);
  for (const one of origins) one.close();
});

describe("access", { concurrency: true }, () => {
  test("of 64 concurrent callers on a limit of 50 exactly 50 pass, in each of two minutes", async () => {
    const key = origin.mint({ rpm: 50 });
    for (const minute of [1, 2]) {
      const end = windowEndMillis();
      const replies = await edge.crowd(64, 3, "/v1/vaults", { key });
      assert.ok(Date.now() < end, "the crowd was through before the minute ended");
      assert.deepEqual(descending(remaining(admitted(replies))), countdown(49));
      const refused = replies.filter((reply) => reply.status !== 200);
      assert.deepEqual(new Set(refused.map((reply) => reply.status)), new Set([429]));
      const resets = new Set(replies.map((reply) => reply.headers["x-ratelimit-reset"]));
      assert.deepEqual([...resets], [String(end / 1000)]);
      for (const reply of refused) assert.ok(Number(reply.headers["retry-after"]) >= 1);
      if (minute === 1) await sleep(end - Date.now() + 20);
    }
  });

  test("windows survive a crash of the runtime, and guessed keys store nothing", async () => {
    const key = fragileOrigin.mint({ rpm: 50 });
    const end = windowEndMillis();
    const guess = () => ({ text: `pk_live_${randomBytes(16).toString("hex")}` });
    const guessed = await Promise.all([1, 2, 3].map(() => fragileEdge.get("/v1/vaults", { key: guess(), ip: "198.51.100.8" })));
    assert.deepEqual(guessed.map(({ status }) => status), [401, 401, 401]);
    const keyless = { ip: "198.51.100.9" };
    const before = [await fragileEdge.crowd(10, 3, "/v1/vaults", { key }), await fragileEdge.crowd(4, 1, "/v1/vaults", keyless)];
    assert.deepEqual(before.map((replies) => admitted(replies).length), [30, 4]);
    assert.equal(fragileEdge.written("KeyGuard"), 2, "the key's Durable Object, and the register that lists it");
    await fragileEdge.kill();
    await fragileEdge.start();
    const again = [await fragileEdge.crowd(64, 2, "/v1/vaults", { key }), await fragileEdge.crowd(32, 1, "/v1/vaults", keyless)];
    assert.ok(Date.now() < end, "all of it in one minute");
    assert.deepEqual(again.map((replies) => descending(remaining(admitted(replies)))), [countdown(19), countdown(5)]);
    const questions = fragileOrigin.questions.filter(({ digest }) => digest === key.digest);
    assert.equal(questions.length, 2, "the register's and the Durable Object's: the record and the list survived, too");
  });

  test("a window survives the eviction of its Durable Object after twelve idle seconds", async () => {
    const key = origin.mint({ rpm: 50 });
    const end = windowEndMillis();
    const first = await edge.crowd(10, 3, "/v1/vaults", { key });
    const keyless = await edge.crowd(4, 1, "/v1/vaults", { ip: "198.51.100.11" });
    await sleep(12_000);
    const second = await edge.crowd(64, 2, "/v1/vaults", { key });
    const after = await edge.crowd(16, 1, "/v1/vaults", { ip: "198.51.100.11" });
    assert.ok(Date.now() < end, "all of it in one minute");
    assert.deepEqual([admitted(first).length, admitted(second).length], [30, 20]);
    assert.deepEqual([admitted(keyless).length, admitted(after).length], [4, 6]);
  });

  test("while the origin is down a valid key keeps its plan and exact limit, and an unknown key is refused", async () => {
    const [key, hung, untold, unknown] = [origin.mint(), origin.mint({ rpm: 8 }), origin.mint(), origin.mint()];
    origin.untold.add(untold.digest);
    const refused = { text: `pk_live_${randomBytes(16).toString("hex")}`, digest: undefined };
    for (const known of [key, untold]) assert.equal((await edge.get("/v1/vaults", { key: known })).status, 200);
    const before = await edge.get("/v1/vaults", { key: hung });
    assert.equal(before.status, 200);
    assert.equal((await edge.get("/v1/vaults", { key: refused, ip: "198.51.100.22" })).status, 401);
    const begun = Date.now();
    for (const { digest } of [key, untold, unknown]) origin.silent.add(digest);
    origin.hanging.add(hung.digest);
    await sleep(21_000);
    assert.equal((await edge.get("/v1/me", { key })).status, 200);
    await sleep(begun + 30_500 - Date.now());
    if (windowEndMillis() - Date.now() < 8_000) await sleep(windowEndMillis() - Date.now() + 20);
    for (const target of ["/v1/me", "/v1/vaults"]) {
      const kept = await edge.get(target, { key });
      assert.deepEqual([kept.status, kept.headers["x-ratelimit-limit"]], [200, "50"], target);
      for (const nobody of [untold, unknown]) {
        const closed = await edge.get(target, { key: nobody, ip: "198.51.100.21" });
        assert.deepEqual([closed.status, closed.headers["retry-after"], closed.headers["x-ratelimit-limit"]], [503, "5", undefined], target);
      }
    }
    const waited = performance.now();
    const first = await edge.get("/v1/vaults", { key: hung });
    // The previous request is counted, too, if it was made in the same minute.
    const left = first.headers["x-ratelimit-reset"] === before.headers["x-ratelimit-reset"] ? 6 : 7;
    assert.deepEqual([first.status, first.headers["x-ratelimit-remaining"]], [200, `${left}`]);
    assert.ok(performance.now() - waited < 1_500, `${performance.now() - waited} ms`);
    const more = performance.now();
    const others = await edge.crowd(10, 1, "/v1/vaults", { key: hung });
    assert.deepEqual([admitted(others).length, others.length], [left, 10], "its limit is exact");
    assert.ok(performance.now() - more < 1_000, `no further request waits: ${performance.now() - more} ms`);
    const revoked = { ...key.record, active: false, version: 2 };
    assert.equal((await edge.tell(key.digest, revoked)).status, 204);
    assert.equal((await edge.get("/v1/me", { key, ip: "198.51.100.23" })).status, 401, "a pushed revocation stays");
    origin.keys.set(hung.digest, { ...hung.record, active: false, version: 2 });
    origin.hanging.delete(hung.digest);
    await until("a revocation that was not pushed takes effect", 10, async () => {
      return (await edge.get("/v1/me", { key: hung, ip: "198.51.100.24" })).status === 401;
    });
    for (const { digest } of [untold, unknown]) origin.silent.delete(digest);
    await until("the other keys work again", 5, async () => (await edge.get("/v1/me", { key: untold })).status === 200);
  });

  test("the origin gets counts of the edge's own responses as totals that only grow", async () => {
    for (let n = 0; n < 5; n += 1) assert.equal((await edge.get("/v1/vaults?page=0", { ip: "198.51.100.31" })).status, 400);
    await until("the counts arrive", 40, () => origin.answers.some(({ minutes }) => minutes.some(({ refused }) => refused >= 5)));
    assert.equal(new Set(origin.answers.map(({ source }) => source)).size, 1);
    const seen = new Map();
    for (const { minutes } of origin.answers) {
      for (const { minute, good, refused, failed } of minutes) {
        const before = seen.get(minute) ?? [0, 0, 0];
        [good, refused, failed].forEach((count, n) => assert.ok(count >= before[n]));
        seen.set(minute, [good, refused, failed]);
      }
    }
  });

  test("a new key works at its first request, and sixteen at once ask the origin once", async () => {
    const key = origin.mint();
    const first = await edge.crowd(16, 1, "/v1/me", { key });
    assert.equal(admitted(first).length, 16);
    assert.equal(origin.questions.filter(({ digest }) => digest === key.digest).length, 2, "the register's and the Durable Object's");
    assert.deepEqual(new Set(origin.questions.map(({ principal }) => principal)), new Set(['{"kind":"edge"}']));
  });

  test("a thousand networks of one /48 together get the limit of sixteen addresses", async () => {
    const end = windowEndMillis();
    const site = (network) => `2001:db8:77:${network.toString(16)}::1`;
    const caller = async (first) => {
      const replies = [];
      for (let n = first; n < 1_000; n += 32) replies.push(await edge.get("/v1/vaults", { ip: site(n % 300) }));
      return replies;
    };
    const replies = (await Promise.all(Array.from({ length: 32 }, (_, first) => caller(first)))).flat();
    assert.ok(Date.now() < end, "all of it in one minute");
    assert.equal(admitted(replies).length, 160);
    const refused = replies.filter(({ status }) => status !== 200);
    assert.deepEqual([...new Set(refused.map(({ status, headers }) => `${status} ${headers["x-ratelimit-limit"]}`))], ["429 160"]);
    assert.equal((await edge.get("/v1/vaults", { ip: "2001:db8:78::1" })).status, 200);
  });

  test("guessed keys create no files, and a valid new key passes among them", async () => {
    const guess = () => ({ text: `pk_live_${randomBytes(16).toString("hex")}` });
    const [address, before] = ["198.51.100.61", edge.files("KeyGuard")];
    const replies = await Promise.all(Array.from({ length: 300 }, () => edge.get("/v1/vaults", { key: guess(), ip: address })));
    const seen = (status) => replies.filter((reply) => reply.status === status).length;
    assert.deepEqual([seen(401), seen(429) + seen(503)], [10, 290]);
    assert.ok(edge.files("KeyGuard") - before <= 16 + 24, "only registers and the keys of concurrent tests");
    const key = origin.mint();
    const [good] = await Promise.all([
      edge.get("/v1/vaults", { key, ip: address }),
      ...Array.from({ length: 30 }, () => edge.get("/v1/vaults", { key: guess(), ip: address })),
    ]);
    assert.equal(good.status, 200);
  });

  test("a body that does not arrive in time is refused", async () => {
    const end = (write, gap) =>
      new Promise((resolve, reject) => {
        const headers = { "content-type": "application/json", "content-length": 4_000, "cf-connecting-ip": "198.51.100.41" };
        const outgoing = request({ host: "127.0.0.1", port: steady.port, method: "POST", path: "/v1/vaults/batch", headers });
        const begun = Date.now();
        const drip = gap && setInterval(() => outgoing.write(" "), gap);
        outgoing.once("response", (response) => {
          clearInterval(drip);
          let body = "";
          response.on("data", (chunk) => (body += chunk));
          response.once("end", () => {
            resolve({ status: response.statusCode, body: JSON.parse(body), seconds: (Date.now() - begun) / 1000 });
            outgoing.destroy();
          });
        });
        outgoing.once("error", (error) => (error.code === "ECONNRESET" ? undefined : reject(error)));
        outgoing.write(write);
      });
    const [silent, dripped] = await Promise.all([end("{"), end("{", 1_000)]);
    for (const [reply, least, most] of [[silent, 9.5, 16], [dripped, 29, 38]]) {
      assert.deepEqual([reply.status, reply.body.error.code], [400, "INVALID_BODY"]);
      assert.match(reply.body.error.message, /in time/);
      assert.ok(least < reply.seconds && reply.seconds < most, `${reply.seconds} s`);
    }
  });

  test("usage arrives once and is not lost while the origin refuses it", async () => {
    const key = origin.mint({ rpm: 20 });
    origin.refusing.add(key.digest);
    const end = windowEndMillis();
    const replies = [
      ...(await edge.crowd(30, 1, "/v1/vaults", { key })),
      ...(await edge.crowd(5, 1, "/v1/chains", { key })),
      ...(await edge.crowd(3, 1, "/v1/health", { key, ip: "198.51.100.41" })),
    ];
    assert.deepEqual([admitted(replies).length, replies.length], [23, 38]);
    await sleep(end - Date.now());
    const sent = () => origin.batches.filter(({ digest }) => digest === key.digest);
    await until("a batch arrived", 40, () => sent().length > 0);
    origin.refusing.delete(key.digest);
    await until("it was sent again", 60, () => sent().some(({ taken }) => taken));
    const [refused] = sent();
    const { taken: _, ...again } = sent().find(({ taken }) => taken);
    assert.deepEqual({ ...again, taken: false }, refused, "the same batch");
    assert.deepEqual([again.sequence, again.through], [1, end / 1000]);
    const { served, throttled, rows } = origin.usage(key.digest);
    assert.deepEqual([served, throttled], [23, 15]);
    const health = rows.find(({ endpoint }) => endpoint === "GET /v1/health");
    assert.deepEqual([health.served, health.day], [3, Math.floor((end - WINDOW_MILLIS) / 86_400_000)]);
  });
});

// Not concurrent with the others, because it takes their CPU time.
test("no request that begins after a revocation was acknowledged is served, of ten thousand", async () => {
  const key = origin.mint({ rpm: 1_000_000 });
  let [number, enough] = [0, false];
  const replies = [];
  const caller = async () => {
    while (!enough) {
      // Distinct addresses, so that the limit for rejected keys does not interfere.
      const ip = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number++ & 255}`;
      // A request whose connection breaks under the load was not served, so it is left out.
      const reply = await edge.get("/v1/vaults", { key, ip }).catch(() => undefined);
      if (reply) replies.push(reply);
    }
  };
  const crowd = Promise.all(Array.from({ length: 128 }, caller));
  const since = (instant) => replies.filter(({ begun }) => begun > instant);
  try {
    await until("seven thousand responses", 120, () => replies.length >= 7_000);
    const revoked = { ...key.record, active: false, version: 2 };
    origin.keys.set(key.digest, revoked);
    assert.equal((await edge.tell(key.digest, revoked)).status, 204);
    const acknowledged = performance.now();
    await until("three thousand requests after the acknowledgement", 120, () => since(acknowledged).length >= 3_000);
    assert.deepEqual([...new Set(since(acknowledged).map(({ status }) => status))], [401]);
    const early = replies.filter(({ begun }) => begun <= acknowledged);
    assert.deepEqual([...new Set(early.map(({ status }) => status))].sort(), [200, 401], "only these two statuses");
  } finally {
    enough = true;
    await crowd;
  }
});

test("concurrent requests are written in one commit", async () => {
  const key = origin.mint({ rpm: 1_000 });
  for (const [kind, callers, each, options] of [
    ["KeyGuard", 64, 4, { key }],
    ["AddressGuard", 10, 1, { ip: "198.51.100.77" }],
  ]) {
    await edge.get("/ready");
    const before = edge.pages(kind);
    const replies = await edge.crowd(callers, each, "/v1/vaults", options);
    assert.equal(admitted(replies).length, callers * each);
    const pages = edge.pages(kind) - before;
    assert.ok(pages < (callers * each) / 2, `${pages} pages for ${callers * each} requests`);
  }
});
