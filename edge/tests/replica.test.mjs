// The replica on real workerd: two isolates with one Durable Object, which answer the lists without the origin.

import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { segmentsAnswer, update } from "./replica/documents.mjs";
import { cache, isOfReplica } from "./replica/origin.mjs";
import { Edge, Origin, until } from "./stack.mjs";

const stack = JSON.parse(process.env.RDS_EDGE_STACKS)[6];
const origin = new Origin();
const edge = new Edge(stack);
const isolates = [stack.port, stack.twin];
const lists = [
  "/v1/vaults", "/v1/chains", "/v1/protocols", "/v1/curators", "/v1/assets", "/v1/stats", "/v1/markets", "/v1/oracle", "/v1/royco",
  "/v1/assets/enriched", "/v1/assets/enriched/facets", "/v1/rwa", "/v1/rwa/facets", "/v1/reviewers", "/v1/security-events",
  "/v1/security-events/losses",
];
const lines = readFileSync(new URL("../../fixtures/replica/states.jsonl", import.meta.url), "utf8").trim().split("\n").map((line) => JSON.parse(line));
const states = new Map(lines.filter(({ version }) => version).map((line) => [line.version, line]));
const segments = new Map(lines.filter(({ segment }) => segment).map(({ segment, bytes }) => [segment, bytes]));
let callers = 0;

const bytes = (hex) => Buffer.from(hex, "hex");

/** The deltas after version `from`. */
const deltas = (from) => [...states.values()].filter(({ version }) => version > from && version <= origin.version).map(({ delta }) => bytes(delta));

/** The origin's side: what leads from the asker's state to the committed version. */
origin.replica = (path, { have, whole, names }) => {
  if (path === "/__edge/segments") return segmentsAnswer(names.map((name) => bytes(segments.get(name) ?? "")));
  const known = whole ? undefined : [...states.values()].find(({ state }) => state === have);
  const stamp = bytes(states.get(origin.version).stamp);
  if (known?.version === origin.version) return update({ stamp });
  if (known && known.version < origin.version) return update({ stamp, deltas: deltas(known.version) });
  return update({ stamp, manifest: bytes(states.get(1).manifest), deltas: deltas(1) });
};

/** A read from a new address at an isolate. */
const read = (path, port = stack.port) => {
  callers += 1;
  return edge.get(path, { port, ip: `198.18.${callers >> 8}.${callers & 255}` });
};
/** The version that a list of vaults was made from, by rows or by the origin. */
const versionOf = ({ body }) => {
  const { data, version } = JSON.parse(body);
  return version ?? data[0].tvl_usd - 1_000_000;
};
/** Commits a change; resolves when the edge has acknowledged it. */
async function publish() {
  origin.version += 1;
  assert.equal((await edge.tellTags(`vaults=${origin.version}`)).status, 204);
}
/** Waits until an isolate answers from rows. */
const warm = (port) => until("the isolate has rows", 20, async () => isOfReplica(await read(`/v1/vaults?limit=${1 + (callers % 90)}`, port)));

before(async () => {
  await origin.listen(stack.origin);
  await edge.start();
});
after(async () => {
  if (edge.said) console.error(`workerd said:\n${edge.said.slice(-2_000)}`);
  await edge.kill();
  origin.close();
});

test("both isolates answer every list without a call to the origin", async () => {
  for (const port of isolates) await warm(port);
  const before = origin.pages;
  for (const port of isolates) {
    for (const path of lists) {
      const [first, second] = [await read(path, port), await read(path, port)];
      assert.deepEqual([first.status, cache(first), isOfReplica(first)], [200, "MISS", true], path);
      assert.deepEqual([second.status, cache(second), second.body], [200, "HIT", first.body], path);
      assert.equal(second.headers.etag, first.headers.etag);
    }
  }
  assert.equal(origin.pages, before);
});

test("a change shows on the next request at every isolate", async () => {
  for (let round = 0; round < 4; round += 1) {
    await publish();
    for (const port of round % 2 ? isolates : isolates.toReversed()) {
      const reply = await read("/v1/vaults?limit=7", port);
      assert.deepEqual([versionOf(reply), isOfReplica(reply)], [origin.version, true]);
    }
  }
});

test("isolates that start while the origin is dead answer every list", async () => {
  origin.isAway = true;
  await edge.kill();
  await edge.start("/robots.txt");
  for (const port of isolates) {
    for (const path of lists) {
      const reply = await read(path, port);
      assert.deepEqual([reply.status, isOfReplica(reply)], [200, true], `${path}: ${reply.body}`);
    }
  }
  // A change that the edge hears of and cannot get: the answers are stale from now on.
  const known = origin.version;
  assert.equal((await edge.tellTags(`vaults=${known + 1}`)).status, 204);
  for (const port of isolates) {
    const reply = await read("/v1/vaults?limit=9", port);
    assert.deepEqual([reply.status, cache(reply), versionOf(reply)], [200, "STALE-ERROR", known]);
    assert.match(reply.headers.warning, /^111 /);
    assert.ok(Number(reply.headers.age) >= 0);
  }
  origin.version += 1;
  origin.isAway = false;
  for (const port of isolates) {
    await until("the change shows", 20, async () => versionOf(await read(`/v1/vaults?limit=${11 + (callers % 80)}`, port)) === origin.version);
  }
});

test("a Durable Object that lost its disk fetches everything again", async () => {
  await edge.kill();
  rmSync(join(stack.folder, "objects", "Replica"), { recursive: true });
  await edge.start();
  for (const port of isolates) {
    await warm(port);
    assert.equal(versionOf(await read("/v1/vaults?limit=13", port)), origin.version);
  }
  origin.isAway = true;
  await edge.kill();
  await edge.start("/robots.txt");
  const reply = await read("/v1/chains");
  assert.deepEqual([reply.status, isOfReplica(reply)], [200, true]);
  origin.isAway = false;
});

test("under frequent changes no request that begins after an acknowledgement sees the earlier state", async () => {
  let over = false;
  const seen = [];
  const reader = async (port, page) => {
    while (!over) {
      const reply = await read(`/v1/vaults?limit=${page}`, port).catch(() => undefined);
      if (reply?.status === 200) seen.push({ begun: reply.begun, version: versionOf(reply), isOfReplica: isOfReplica(reply) });
    }
  };
  const readers = Promise.all([1, 2, 3, 4].flatMap((page) => isolates.map((port) => reader(port, page))));
  const acknowledged = [];
  try {
    for (let change = 0; change < 8; change += 1) {
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
  assert.ok(seen.some((reply) => reply.isOfReplica), "the replica answered");
});
