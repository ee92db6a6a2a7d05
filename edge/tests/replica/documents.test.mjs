// Documents and segments that are damaged, forged, old or cut on their way: an isolate never answers from them.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { SECRET, until } from "../stack.mjs";
import { segmentsAnswer, update } from "./documents.mjs";
import { LISTS, cache, ended, isCurrent, isOfReplica, laidOut, versionOf } from "./origin.mjs";

const [stack] = JSON.parse(process.env.RDS_CONTROLLED_EDGES);
/** After a refused update the Durable Object rests for half a minute. */
const REST_SECONDS = 31;
let [origin, edge] = [];

beforeEach(async () => {
  ({ origin, edge } = await laidOut(stack));
});
afterEach(() => ended({ origin, edge }));

const [REPLICA, SEGMENTS] = ["/__edge/replica", "/__edge/segments"];
const intact = (path, message, bytes) => bytes;
/** The bytes with one changed in the middle. */
const damaged = (bytes) => Buffer.from(bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte)));
/** How often the edge has asked the origin for each segment. */
const askedFor = (name) => origin.asked[SEGMENTS].filter(({ names }) => names.includes(name)).length;

/** Reads at both isolates: each answer is of the committed state, and of rows only if `mayBeOfRows`. */
async function expectCommitted(mayBeOfRows) {
  for (const port of edge.ports) {
    for (let number = 0; number < 3; number += 1) {
      const reply = await edge.readNew(port);
      assert.deepEqual([reply.status, versionOf(reply)], [200, origin.version]);
      assert.ok(mayBeOfRows || !isOfReplica(reply), reply.headers["cache-status"]);
    }
  }
}

/** Every list at both isolates is made from rows, unless such an answer is cached. */
async function expectRows() {
  await edge.warm();
  await expectCommitted(true);
  for (const port of edge.ports) {
    for (const path of LISTS) {
      const reply = await edge.read(`${path}?limit=77`, port);
      assert.equal(reply.status, 200, path);
      assert.ok(isCurrent(reply) || cache(reply) === "HIT", path);
    }
  }
}

/** Answers with the current stamp and this manifest. */
const withManifest = (manifest) => (path, message, bytes) =>
  (path === REPLICA ? update({ stamp: origin.sealed(origin.state).stamp, manifest: manifest(), deltas: [] }) : bytes);

/** Publishes a change; resolves when the edge has acknowledged it. */
async function publish() {
  origin.commit();
  await edge.tell(origin);
}

test("a segment of the origin with other bytes than its name says is refused, counted and fetched again", async () => {
  const refused = /the segment [0-9a-f]{64} of the origin was refused: it is not what its name says/;
  let name;
  origin.fault = (path, message, bytes) => {
    if (path !== SEGMENTS) return bytes;
    name ??= message.names[0];
    return segmentsAnswer(message.names.map((asked) => (asked === name ? damaged(origin.segment(asked)) : origin.segment(asked))));
  };
  await edge.start();
  await until("the Durable Object gave up", 20, async () => {
    await expectCommitted(false);
    return edge.logged(/the replica could not be pulled: .* a segment of it is missing/) > 0;
  });
  const tries = askedFor(name);
  assert.deepEqual([tries > 1, edge.logged(refused)], [true, tries]);
  await expectCommitted(false);
  // One damaged answer more, then whole ones.
  const broken = origin.fault;
  origin.fault = (path, message, bytes) => {
    if (path === SEGMENTS) origin.fault = intact;
    return broken(path, message, bytes);
  };
  await edge.pass(REST_SECONDS);
  await expectRows();
  assert.deepEqual([askedFor(name), edge.logged(refused)], [tries + 2, tries + 1]);
});

test("a segment that was damaged between the Durable Object and an isolate is refused, counted and fetched again", async () => {
  // The Worker itself has no request before the link is damaged.
  await edge.start("/__test");
  await edge.control("damage=segments:byte:1");
  await expectRows();
  const counts = await Promise.all(edge.ports.map(async (port) => Number((await edge.get("/__test", { port })).headers["x-damaged"])));
  const total = counts[0] + counts[1];
  assert.ok(total > 0);
  assert.equal(edge.logged(/the segment [0-9a-f]{64} was refused: a segment is not what its name says/), total);
});

test("a segment that was damaged on the Durable Object's disk is never served, and fetched again", async () => {
  await edge.start();
  await expectRows();
  const name = origin.asked[SEGMENTS].flatMap(({ names }) => names).at(-1);
  assert.equal((await edge.get(`/__test?rot=${name}&object=f2-0`)).status, 204);
  await edge.kill();
  origin.isAway = true;
  await edge.start("/robots.txt");
  for (const port of edge.ports) assert.equal((await edge.readNew(port)).status, 503, "without the origin nothing can be made of the rest");
  assert.ok(edge.logged(/stored segments of the replica were not what their names say/) > 0);
  const before = askedFor(name);
  origin.isAway = false;
  await edge.pass(61);
  await expectRows();
  assert.ok(askedFor(name) > before);
});

test("a manifest with a wrong signature is refused", async () => {
  const strangers = { id: "k1", secret: SECRET.replace("0011", "9911") };
  const forged = () => {
    const sealedWith = (key) => origin.sealed(origin.state, { key }).manifest();
    const ours = origin.sealed(origin.state).manifest();
    return { changed: damaged(ours), strange: sealedWith(strangers), unknown: sealedWith({ ...strangers, id: "k9" }) };
  };
  let kind = "changed";
  origin.fault = withManifest(() => forged()[kind]);
  await edge.start();
  for (kind of ["changed", "strange", "unknown"]) {
    const reason = kind === "unknown" ? "was sealed with an unknown key" : "is not what was sealed";
    const refused = () => edge.logged(new RegExp(`the replica could not be pulled: the origin's update was refused: a document ${reason}`));
    const before = refused();
    await edge.pass(REST_SECONDS);
    await until("the manifest was refused", 20, async () => {
      await expectCommitted(false);
      return refused() > before;
    });
  }
  await publish();
  await expectCommitted(false);
  origin.fault = intact;
  await edge.pass(REST_SECONDS);
  await expectRows();
});

test("an old manifest with its old, valid signature never replaces newer rows, and is never served as current", async () => {
  await edge.start();
  await edge.warm();
  const old = origin.update({ whole: true });
  const oldManifest = origin.sealed(origin.state).manifest();
  for (let change = 0; change < 2; change += 1) await publish();
  await expectRows();
  // All of the old update again: its stamp lacks changes.
  origin.fault = (path, message, bytes) => (path === REPLICA ? old : bytes);
  await edge.pass(6);
  await until("it was refused", 20, async () => {
    await expectCommitted(true);
    return edge.logged(/could not be pulled: .* it is older than the state held/) > 0;
  });
  await publish();
  await expectCommitted(false);
  // The old manifest with the current stamp.
  origin.fault = withManifest(() => oldManifest);
  await edge.pass(2);
  await until("it was refused", 20, async () => {
    await expectCommitted(false);
    return edge.logged(/could not be pulled: .* it does not lead to the state that its stamp names/) > 0;
  });
  // A Durable Object that has lost its disk cannot know that it is old. The isolates know that there are newer versions.
  await edge.kill();
  rmSync(join(stack.folder, "objects", "Replica"), { recursive: true });
  origin.fault = (path, message, bytes) => (path === REPLICA ? old : bytes);
  const asked = origin.asked[SEGMENTS].length;
  await edge.start();
  await until("the Durable Object has the old state", 20, async () => {
    await expectCommitted(false);
    return origin.asked[SEGMENTS].length > asked;
  });
  origin.isAway = true;
  for (const port of edge.ports) {
    const reply = await edge.readNew(port);
    const isMarked = reply.status === 503 || (cache(reply) === "STALE-ERROR" && reply.headers["x-data-version"] === String(versionOf(reply)));
    assert.ok(isMarked, `${reply.status} ${cache(reply)}`);
  }
  origin.isAway = false;
  origin.fault = intact;
  await edge.pass(REST_SECONDS);
  await expectRows();
});

test("half a delta changes nothing, wherever the connection broke", async () => {
  await edge.start();
  await expectRows();
  // Between the origin and the Durable Object.
  origin.fault = (path, message, bytes) => (path === REPLICA ? { half: bytes } : bytes);
  const before = origin.version;
  await publish();
  await until("the connection broke", 20, async () => {
    await expectCommitted(false);
    return edge.logged(/the replica could not be pulled: the origin cannot be reached/) > 0;
  });
  origin.isAway = true;
  for (const port of edge.ports) {
    const reply = await edge.readNew(port);
    assert.deepEqual([cache(reply), versionOf(reply), reply.headers["x-data-version"]], ["STALE-ERROR", before, String(before)]);
  }
  await edge.restart("/robots.txt");
  assert.equal(versionOf(await edge.readNew()), before, "what is on the disk is whole");
  origin.isAway = false;
  origin.fault = intact;
  await expectRows();
  // Between the Durable Object and the isolates.
  await edge.control("damage=ask:half:2");
  await publish();
  await expectCommitted(true);
  await expectRows();
});
