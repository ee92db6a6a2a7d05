// The replica under load: bursts of score runs over every vault, and more rows than an isolate may hold.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { until } from "../stack.mjs";
import { cache, ended, isOfReplica, laidOut, versionOf } from "./origin.mjs";
import { grown, market } from "./documents.mjs";

const [, , stack] = JSON.parse(process.env.RDS_CONTROLLED_EDGES);
let [origin, edge] = [];

afterEach(() => ended({ origin, edge }));

/** Begins to read at both isolates, pages that are new and pages that are cached; every response is kept with the version at its end. */
function readers(count) {
  const [seen, state] = [[], { isOver: false }];
  const reader = async (port, place) => {
    for (let number = 0; !state.isOver; number += 1) {
      const reply = await (number % 3 ? edge.read(`/v1/vaults?limit=${10 * place + (number % 7) + 1}`, port) : edge.readNew(port));
      seen.push({ ...reply, committed: origin.version });
    }
  };
  const all = Promise.all(Array.from({ length: count }, (_, place) => edge.ports.map((port) => reader(port, place))).flat());
  const end = async () => {
    state.isOver = true;
    await all;
  };
  return { seen, end };
}

test("during bursts of score runs over every vault no request fails, and none gets an older state than was acknowledged before it", async () => {
  ({ origin, edge } = await laidOut(stack, { vaults: 2_000 }));
  await edge.start();
  await edge.warm();
  const { seen, end } = readers(6);
  const acknowledged = [];
  try {
    for (let burst = 0; burst < 4; burst += 1) {
      const runs = Array.from({ length: 4 }, async () => {
        origin.commit();
        const { version } = origin;
        await edge.tell(origin);
        acknowledged.push({ version, at: performance.now() });
      });
      await Promise.all(runs);
    }
    const enough = seen.length + 100;
    await until("a hundred more responses arrived", 30, () => seen.length >= enough);
  } finally {
    await end();
  }
  assert.equal(acknowledged.length, 16);
  assert.deepEqual(seen.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body}`), []);
  for (const reply of seen) {
    const least = Math.max(1, ...acknowledged.filter(({ at }) => at < reply.begun).map(({ version }) => version));
    const version = versionOf(reply);
    const what = `version ${version} instead of ${least} to ${reply.committed}: ${reply.headers["cache-status"]}`;
    assert.ok(version >= least && version <= reply.committed, what);
    assert.ok(["MISS", "HIT"].includes(cache(reply)), cache(reply));
  }
  const ofRows = new Set(seen.filter(isOfReplica).map(versionOf));
  assert.ok(ofRows.size > 4, `rows of ${ofRows.size} versions answered`);
});

test("with more rows than an isolate may hold every answer is right, and the rows are used again once they fit", async () => {
  ({ origin, edge } = await laidOut(stack));
  await edge.start();
  await edge.warm();
  const few = origin.state.rows;
  // Some 90 MB of rows, where an isolate has 72 MB for them.
  origin.commit({ rows: grown(market(), 40_000) });
  await edge.tell(origin);
  const asked = origin.asked["/__edge/segments"].length;
  const { seen, end } = readers(2);
  try {
    await until("the rows were sent", 60, () => origin.asked["/__edge/segments"].length > asked);
    const enough = seen.length + 200;
    await until("two hundred more responses arrived", 60, () => seen.length >= enough);
    for (const port of edge.ports) {
      for (const path of ["/v1/chains", "/v1/protocols", "/v1/assets", "/v1/stats"]) {
        const reply = await edge.read(`${path}?limit=55`, port);
        assert.equal(reply.status, 200, path);
        // The scripted origin lists nothing.
        assert.ok(isOfReplica(reply) || reply.body === '{"data":[]}', reply.body);
      }
    }
    origin.commit({ rows: few });
    await edge.tell(origin);
    // An isolate that could not use rows asks again after a minute.
    await edge.pass(61);
    await edge.warm();
  } finally {
    await end();
  }
  assert.deepEqual(seen.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body}`), []);
  const [, large, small] = origin.states.map(({ version }) => version);
  const versions = new Set(seen.map(versionOf));
  assert.ok([...versions].every((version) => [large, small].includes(version)), [...versions].join());
  assert.equal(edge.child.exitCode, null);
});
