// Busy keys on real workerd, at two isolates with one Durable Object: limits and usage stay exact.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Edge, Origin, sleep, until, windowEndMillis } from "./stack.mjs";

const [, , , , stack] = JSON.parse(process.env.RDS_EDGE_STACKS);
const LIMIT = 6_000;
const origin = new Origin();
const edge = new Edge(stack);
const isolates = [stack.port, stack.twin];
const served = (replies) => replies.filter(({ status }) => status === 200);
const calls = async () => Number((await edge.get("/counted", { port: stack.twin })).headers["x-asked-keys"]);

before(async () => {
  await origin.listen(stack.origin);
  await edge.start();
});
after(async () => {
  if (edge.said) console.error(`workerd said:\n${edge.said.slice(-2_000)}`);
  await edge.kill();
  origin.close();
});

/** Sends from both isolates concurrently: `callers` callers with `each` sequential requests; replies by isolate. */
const crowds = (key, callers, each) =>
  Promise.all(isolates.map((port) => edge.crowd(callers, each, "/v1/vaults", { key, port })));

/** Waits for a minute with at least `millis` left; returns its end. */
async function room(millis) {
  const left = windowEndMillis() - Date.now();
  if (left < millis) await sleep(left + 20);
  return windowEndMillis();
}

const busy = origin.mint({ rpm: LIMIT });
let replies, end;

test("with concurrent callers at two isolates exactly the limit passes, with few calls to the Durable Object", async () => {
  end = await room(25_000);
  const before = await calls();
  const [one, other] = await crowds(busy, 32, 115);
  replies = [...one, ...other];
  assert.ok(Date.now() < end, "the crowd was through before the minute ended");
  assert.deepEqual([replies.length, served(replies).length], [7_360, LIMIT]);
  assert.deepEqual([...new Set(replies.map(({ status }) => status))].sort(), [200, 429]);
  for (const { headers } of served(replies)) {
    const left = Number(headers["x-ratelimit-remaining"]);
    assert.ok(left >= 0 && left < LIMIT, `${left} left`);
    assert.equal(headers["x-ratelimit-reset"], String(end / 1000));
  }
  assert.deepEqual([...new Set(replies.map(({ headers }) => headers["x-ratelimit-limit"]))], [String(LIMIT)]);
  const asked = (await calls()) - before;
  assert.ok(asked < served(other).length / 2, `${asked} calls for ${served(other).length} requests`);
});

test("usage counts exactly the served requests", async () => {
  const usage = () => origin.usage(busy.digest);
  await until("the usage arrives", 90, () => Date.now() > end && usage().served + usage().throttled >= replies.length);
  const { served: count, throttled, rows } = usage();
  assert.deepEqual([count, throttled], [LIMIT, replies.length - LIMIT]);
  assert.deepEqual([...new Set(rows.map(({ endpoint }) => endpoint))], ["GET /v1/vaults"]);
});

// Runs last, because restarting the runtime delays the usage reports of the other tests.
test("requests reserved before a crash stay counted and are not admitted again", async () => {
  const key = origin.mint({ rpm: LIMIT });
  const minute = await room(25_000);
  const before = await crowds(key, 32, 50);
  // Some reservations are not settled when the process is killed.
  await edge.kill();
  await edge.start();
  const after = await crowds(key, 32, 100);
  assert.ok(Date.now() < minute, "all of it in one minute");
  const total = served([...before, ...after].flat()).length;
  assert.ok(total <= LIMIT && total > LIMIT * 0.7, `${total} of ${LIMIT}`);
});
