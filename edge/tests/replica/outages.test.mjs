// The replica while the origin is dead, restored to an earlier state, or withholds a chain, and isolates start meanwhile.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { until } from "../stack.mjs";
import { LISTS, cache, ended, isCurrent, isOfReplica, laidOut, timeless, versionOf } from "./origin.mjs";

const [, stack] = JSON.parse(process.env.RDS_CONTROLLED_EDGES);
/** The chain that is withheld, and how it shows in answers. */
const [OPTIMISM, SHOWN] = [10, /optimism/i];
/** Lists whose every row is of one chain; the others add up over chains, or have cases of several. */
const OF_ONE_CHAIN = ["/v1/vaults", "/v1/royco", "/v1/chains", "/v1/markets", "/v1/oracle"];
let [origin, edge] = [];

beforeEach(async () => {
  ({ origin, edge } = await laidOut(stack));
  await edge.start();
  await edge.warm();
});
afterEach(() => ended({ origin, edge }));

test("for an hour without the origin every list is served stale, also by isolates that start meanwhile", async () => {
  const bodies = new Map();
  for (const path of LISTS) bodies.set(path, timeless(await edge.read(path)));
  const { version } = origin;
  origin.isAway = true;
  let passed = 0;
  const steps = [{ minutes: 2 }, { minutes: 20, restarts: true }, { minutes: 40, hears: true }, { minutes: 60, restarts: true }];
  for (const { minutes, restarts, hears } of steps) {
    await edge.pass(60 * (minutes - passed));
    passed = minutes;
    if (restarts) await edge.restart("/robots.txt");
    // A change that the edge hears of and cannot get.
    if (hears) await edge.tellTags(`vaults=${version + 1}`, []);
    for (const port of edge.ports) {
      for (const path of LISTS) {
        const { status, headers, ...reply } = await edge.read(path, port);
        const what = `${path} after ${minutes} minutes`;
        assert.deepEqual([status, headers["x-cache"], headers["x-data-version"]], [200, "STALE-ERROR", String(version)], what);
        assert.match(headers.warning, /^111 /, what);
        const late = Number(headers.age) - 60 * minutes;
        assert.ok(late >= 0 && late < 60, `${what}: its age is ${headers.age}`);
        assert.equal(timeless(reply), bodies.get(path), what);
        if (restarts) assert.ok(isOfReplica({ headers }), what);
      }
    }
  }
  origin.commit();
  origin.isAway = false;
  for (const port of edge.ports) {
    await edge.warm(port);
    assert.equal(versionOf(await edge.readNew(port)), origin.version);
  }
});

test("rows of an origin that was restored to an earlier state are taken once they have newer versions, and not before", async () => {
  for (let change = 0; change < 3; change += 1) {
    origin.commit();
    await edge.tell(origin);
  }
  await edge.warm();
  const undone = origin.version;
  origin.restore(2);
  for (const restarts of [false, true]) {
    if (restarts) await edge.restart("/robots.txt");
    // The rows are confirmed every five seconds, and current for fifteen.
    await edge.pass(6);
    await until("the older state was refused", 20, async () => {
      for (const port of edge.ports) {
        const reply = await edge.readNew(port);
        assert.ok(!isOfReplica(reply) || versionOf(reply) === undone, `${versionOf(reply)}`);
      }
      return edge.logged(/the replica could not be pulled: .* is older than the state held/) > (restarts ? 1 : 0);
    });
  }
  await edge.pass(20);
  for (const port of edge.ports) assert.ok(!isOfReplica(await edge.readNew(port)), "the rows are not current any more");
  // The origin learns which versions it had given, and numbers what it commits from then on above them.
  const known = await edge.tellTags("");
  assert.match(known.headers["x-service-tags"], new RegExp(`vaults=${undone}\\b`));
  origin.commit({ version: undone + 1, run: 2 });
  await edge.tell(origin);
  for (const port of edge.ports) {
    await until("the restored rows show", 20, async () => {
      const reply = await edge.readNew(port);
      assert.equal(isOfReplica(reply) ? versionOf(reply) : 2, 2, "nothing that the restore undid");
      return isCurrent(reply);
    });
  }
  origin.isAway = true;
  await edge.restart("/robots.txt");
  for (const port of edge.ports) {
    const reply = await edge.readNew(port);
    assert.deepEqual([versionOf(reply), reply.headers["x-data-version"]], [2, String(origin.version)]);
  }
});

test("a withheld chain is in no answer after the acknowledgement, also without the origin and at isolates that start later", async () => {
  for (const port of edge.ports) {
    for (const path of ["/v1/vaults", "/v1/chains"]) assert.match((await edge.read(path, port)).body, SHOWN, path);
  }
  // The isolates hold its rows and cannot get others.
  origin.fault = () => ({ status: 503 });
  let isOver = false;
  const seen = [];
  const reader = async (port, place) => {
    for (let number = place; !isOver; number += 1) {
      const path = LISTS[number % LISTS.length];
      const reply = await edge.read(number % 2 ? path : `${path}?limit=${1 + (number % 60)}`, port);
      assert.equal(reply.status, 200, path);
      seen.push({ path, ...reply });
    }
  };
  const readers = Promise.all([0, 5, 11].flatMap((place) => edge.ports.map((port) => reader(port, place))));
  try {
    await until("a response shows the chain", 30, () => seen.some(({ body }) => SHOWN.test(body)));
    origin.withhold(OPTIMISM);
    await edge.tell(origin);
    const at = performance.now();
    const late = () => seen.filter(({ begun }) => begun > at);
    await until("two hundred more responses arrived", 30, () => late().length > 200);
    assert.deepEqual(late().filter(({ body }) => SHOWN.test(body)).map(({ path }) => path), []);
  } finally {
    isOver = true;
    await readers;
  }
  origin.isAway = true;
  for (const restarts of [false, true, false]) {
    await edge.pass(1_800);
    if (restarts) await edge.restart("/robots.txt");
    for (const port of edge.ports) {
      for (const path of LISTS) {
        const reply = await edge.read(path, port);
        assert.doesNotMatch(reply.body, SHOWN, path);
        const expected = OF_ONE_CHAIN.includes(path) ? [200, "STALE-ERROR"] : [503, undefined];
        if (restarts) assert.deepEqual([reply.status, cache(reply)], expected, path);
      }
    }
  }
  // The rows without the chain come, and later the chain is served again.
  origin.isAway = false;
  origin.fault = (path, message, bytes) => bytes;
  for (const isShown of [false, true]) {
    if (isShown) {
      origin.commit({ rows: origin.states[0].rows, withheld: [] });
      await edge.tell(origin);
    }
    for (const port of edge.ports) {
      await edge.warm(port);
      const replies = await Promise.all(["/v1/chains?limit=9", "/v1/stats?limit=9"].map((path) => edge.read(path, port)));
      assert.deepEqual(replies.map(isCurrent), [true, true]);
      assert.equal(SHOWN.test(replies[0].body), isShown);
    }
  }
});
