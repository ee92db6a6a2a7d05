// Limits and keys on real workerd, in real minutes. The stories share them: each waits for the clock as little as it can.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Edge, Origin, WINDOW_MILLIS, sleep, until, windowEndMillis } from "./stack.mjs";

const [steady, fragile] = JSON.parse(process.env.RDS_EDGE_STACKS);
const origins = [new Origin(), new Origin()];
const [origin, fragileOrigin] = origins;
const edge = new Edge(steady);
const mortal = new Edge(fragile);
const admitted = (replies) => replies.filter((reply) => reply.status === 200);
const remaining = (replies) => replies.map((reply) => Number(reply.headers["x-ratelimit-remaining"]));
const countdown = (from, to = 0) => Array.from({ length: from - to + 1 }, (_, n) => from - n);
const descending = (numbers) => numbers.sort((a, b) => b - a);

before(async () => {
  await origin.listen(steady.origin);
  await fragileOrigin.listen(fragile.origin);
  await Promise.all([edge.start(), mortal.start()]);
  // Stories that stay within one minute take half of one.
  if (windowEndMillis() - Date.now() < 32_000) await sleep(windowEndMillis() - Date.now());
});
after(async () => {
  for (const one of [edge, mortal]) if (one.said) console.error(`workerd said:\n${one.said.slice(-2_000)}`);
  await Promise.all([edge.kill(), mortal.kill()]);
  for (const one of origins) one.close();
});

describe("access", { concurrency: true }, () => {
  test("64 callers on a limit of 50: exactly 50 pass, in each of two minutes", async () => {
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

  test("windows survive the death of the runtime, and guessed keys leave nothing on its disk", async () => {
    const key = fragileOrigin.mint({ rpm: 50 });
    const end = windowEndMillis();
    const guess = () => ({ text: `pk_live_${randomBytes(16).toString("hex")}` });
    const guessed = await Promise.all([1, 2, 3].map(() => mortal.get("/v1/vaults", { key: guess(), ip: "198.51.100.8" })));
    assert.deepEqual(guessed.map(({ status }) => status), [401, 401, 401]);
    const keyless = { ip: "198.51.100.9" };
    const before = [await mortal.crowd(10, 3, "/v1/vaults", { key }), await mortal.crowd(4, 1, "/v1/vaults", keyless)];
    assert.deepEqual(before.map((replies) => admitted(replies).length), [30, 4]);
    assert.equal(mortal.written("KeyGuard"), 1);
    await mortal.kill();
    await mortal.start();
    const again = [await mortal.crowd(64, 2, "/v1/vaults", { key }), await mortal.crowd(32, 1, "/v1/vaults", keyless)];
    assert.ok(Date.now() < end, "all of it in one minute");
    assert.deepEqual(again.map((replies) => descending(remaining(admitted(replies)))), [countdown(19), countdown(5)]);
    const questions = fragileOrigin.questions.filter(({ digest }) => digest === key.digest);
    assert.equal(questions.length, 1, "the record survived, too");
  });

  test("a window survives eleven idle seconds, after which the object is evicted", async () => {
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

  test("with the origin away a record holds for thirty seconds; then the gate is shut and the public is anonymous", async () => {
    const key = origin.mint();
    assert.equal((await edge.get("/v1/me", { key })).status, 200);
    const begun = Date.now();
    origin.silent.add(key.digest);
    await sleep(21_000);
    assert.equal((await edge.get("/v1/me", { key })).status, 200);
    await sleep(begun + 30_500 - Date.now());
    const gated = await edge.get("/v1/me", { key, ip: "198.51.100.21" });
    assert.deepEqual([gated.status, gated.headers["retry-after"]], [503, "5"]);
    const open = await edge.get("/v1/vaults", { key, ip: "198.51.100.21" });
    assert.deepEqual([open.status, open.headers["x-ratelimit-limit"]], [200, "10"]);
    origin.silent.delete(key.digest);
    await until("the key is known again", 5, async () => (await edge.get("/v1/me", { key })).status === 200);
  });

  test("a new key works at its first request, and sixteen at once ask the origin once", async () => {
    const key = origin.mint();
    const first = await edge.crowd(16, 1, "/v1/me", { key });
    assert.equal(admitted(first).length, 16);
    assert.equal(origin.questions.filter(({ digest }) => digest === key.digest).length, 1);
    assert.deepEqual(new Set(origin.questions.map(({ principal }) => principal)), new Set(['{"kind":"edge"}']));
  });

  test("usage arrives once, and none of it is lost while the origin refuses it", async () => {
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
    await until("a batch came", 40, () => sent().length > 0);
    origin.refusing.delete(key.digest);
    await until("it came again", 60, () => sent().some(({ taken }) => taken));
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

// By itself: it would take the minute from the others.
test("of ten thousand requests none that began after a revocation was acknowledged is served", async () => {
  const key = origin.mint({ rpm: 1_000_000 });
  let [number, enough] = [0, false];
  const replies = [];
  const caller = async () => {
    while (!enough) {
      // An address each: the budget for rejected keys is not this story's.
      const ip = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number++ & 255}`;
      // A connection that breaks under the load has served nobody.
      const reply = await edge.get("/v1/vaults", { key, ip }).catch(() => undefined);
      if (reply) replies.push(reply);
    }
  };
  const crowd = Promise.all(Array.from({ length: 128 }, caller));
  const since = (instant) => replies.filter(({ begun }) => begun > instant);
  try {
    await until("seven thousand were answered", 120, () => replies.length >= 7_000);
    const revoked = { ...key.record, active: false, version: 2 };
    origin.keys.set(key.digest, revoked);
    assert.equal((await edge.tell(key.digest, revoked)).status, 204);
    const acknowledged = performance.now();
    await until("three thousand came after", 120, () => since(acknowledged).length >= 3_000);
    assert.deepEqual([...new Set(since(acknowledged).map(({ status }) => status))], [401]);
    const early = replies.filter(({ begun }) => begun <= acknowledged);
    assert.deepEqual([...new Set(early.map(({ status }) => status))].sort(), [200, 401], "and nothing in between");
  } finally {
    enough = true;
    await crowd;
  }
});

test("those who come together are written together", async () => {
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
