// A panic of the Worker in workerd: every pending request gets a 500, and later requests get a new Wasm instance.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Edge, Origin, until } from "./stack.mjs";

const stack = JSON.parse(process.env.RDS_PANICKING_EDGE);
const origin = new Origin();
const edge = new Edge(stack);
/** Requests that reached the origin and are left unanswered. */
let held = 0;

before(async () => {
  origin.beforeAnswer = async ({ url }) => {
    if (!url.includes("minTvl")) return;
    held += 1;
    await new Promise(() => {});
  };
  await origin.listen(stack.origin);
  await edge.start();
});
after(async () => {
  await edge.kill();
  origin.close();
});

test("a panic ends its request and all waiting ones with a 500, and later requests succeed", async () => {
  for (let round = 1; round <= 3; round += 1) {
    const waiting = [1, 2, 3].map((number) => edge.get(`/v1/vaults?minTvl=${10 * round + number}`));
    await until("the requests wait for the origin", 30, () => held === 3 * round);
    const answers = await Promise.all([edge.get("/__panic"), ...waiting]);
    const errors = answers.map(({ status, body }) => ({ status, error: JSON.parse(body).error }));
    for (const { status, error } of errors) assert.deepEqual([status, error.code], [500, "INTERNAL_ERROR"]);
    assert.equal(new Set(errors.map(({ error }) => error.request_id)).size, 4, "every response has its own request id");
    assert.ok(answers.every(({ body }) => !body.includes("panic requested by the path")), "no response shows the cause");
    assert.equal((await edge.get(`/v1/vaults?page=${round}`)).status, 200);
  }
});
