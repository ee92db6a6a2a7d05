// Two releases whose replica has different formats: they share the disk of the Durable Objects and the data centre's cache, and never read
// each other's rows.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { until } from "../stack.mjs";
import { LISTS, cache, ended, isOfReplica, laidOut, versionOf } from "./origin.mjs";
import { VAULTS } from "./documents.mjs";

const [, , , stack] = JSON.parse(process.env.RDS_CONTROLLED_EDGES);
/** Seconds after which a Durable Object asks an origin of another format again. */
const REST_SECONDS = 31;
/** The formats of both releases. */
const [THIS, NEXT] = [2, 3];
let [origin, edge] = [];

beforeEach(async () => {
  ({ origin, edge } = await laidOut(stack));
});
afterEach(() => ended({ origin, edge }));

/** The rows as the next release writes them: it names the protocol otherwise. */
const renamed = (rows) => {
  const changed = (row) => row.toString("latin1").replaceAll('"protocol_name":"Aave"', '"protocol_name":"Nova"');
  return rows.with(VAULTS, rows.of(VAULTS).map((row) => Buffer.from(changed(row), "latin1")));
};
const NAMES = { [THIS]: "Aave", [NEXT]: "Nova" };

/** The origin of a release takes the place of the one before. */
function deployOrigin(format) {
  origin.formats = [format];
  if (format === NEXT) origin.commit({ rows: renamed(origin.state.rows) });
}

/** Starts the edge with the first isolate, which has the Durable Objects, and the second one of these releases. */
async function deploy(configuration, path) {
  if (edge.child) await edge.kill();
  edge.configuration = configuration;
  await edge.start(path);
}

/** Publishes a change, which both isolates then show; rows are those of the isolate's own format. */
async function expectRight(formats) {
  origin.commit();
  await edge.tell(origin);
  for (const [place, port] of edge.ports.entries()) {
    for (let number = 0; number < 3; number += 1) {
      const reply = await edge.readNew(port);
      assert.deepEqual([reply.status, versionOf(reply)], [200, origin.version], `isolate ${place}: ${reply.headers["cache-status"]}`);
      if (isOfReplica(reply)) assert.match(reply.body, new RegExp(`"protocol_name":"${NAMES[formats[place]]}"`));
    }
    for (const path of LISTS) assert.equal((await edge.read(path, port)).status, 200, path);
  }
}

const hasNone = async (port) => assert.ok(!isOfReplica(await edge.readNew(port)));

test("while edge and origin are replaced one by one, each isolate answers from rows of its own format or not at all", async () => {
  const [first, second] = edge.ports;
  await deploy("worker.capnp");
  await edge.warm(first);
  await edge.warm(second);
  await expectRight([THIS, THIS]);

  // The next release runs in one isolate. The Durable Object still is of this release, and has nothing for it.
  await deploy("beside.capnp");
  await edge.warm(first);
  await expectRight([THIS, NEXT]);
  await hasNone(second);

  // The Durable Objects are of the next release, over the same disk; the origin is not.
  await deploy("upgraded.capnp");
  await expectRight([NEXT, THIS]);
  for (const port of edge.ports) await hasNone(port);

  deployOrigin(NEXT);
  await edge.pass(REST_SECONDS);
  await edge.warm(first);
  await expectRight([NEXT, THIS]);
  await hasNone(second);

  // Back to this release: its Durable Object has rows from before, which are old by now. The origin makes others.
  await deploy("beside.capnp");
  await expectRight([THIS, NEXT]);
  for (const port of edge.ports) await hasNone(port);
  origin.isAway = true;
  await edge.pass(3_600);
  await deploy("beside.capnp", "/robots.txt");
  const stale = await edge.readNew(first);
  assert.deepEqual([stale.status, cache(stale), stale.headers["x-data-version"]], [200, "STALE-ERROR", String(versionOf(stale))]);
  assert.match(stale.body, /"protocol_name":"Aave"/);
  assert.ok(Number(stale.headers.age) >= 3_600);
  assert.equal((await edge.readNew(second)).status, 503);

  origin.isAway = false;
  await deploy("upgraded.capnp");
  await edge.pass(REST_SECONDS);
  await edge.warm(first);
  await expectRight([NEXT, THIS]);
});

test("documents of another format than was asked for are refused", async () => {
  await deploy("beside.capnp");
  for (const port of edge.ports) await until("the Worker answers", 20, async () => (await edge.readNew(port)).status === 200);
  await edge.warm(edge.port);
  // An origin that answers whatever it is asked for in its own format.
  origin.fault = (path, message) => (path === "/__edge/replica" ? origin.update({ ...message, format: NEXT }) : undefined);
  await expectRight([THIS, NEXT]);
  await until("they were refused", 20, async () => {
    await expectRight([THIS, NEXT]);
    return edge.logged(new RegExp(`could not be pulled: .* has the format ${NEXT} instead of ${THIS}`)) > 0;
  });
  origin.fault = (path, message, bytes) => bytes;
  await edge.pass(REST_SECONDS);
  await edge.warm(edge.port);
  await expectRight([THIS, NEXT]);
});
