// Verification of decisions on real workerd, with the Worker's own Wasm: signed natively, tampered with, or missing.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Edge, Origin } from "./stack.mjs";

const [, , , stack] = JSON.parse(process.env.RDS_EDGE_STACKS);
const origin = new Origin();
const edge = new Edge(stack);
const VECTORS = readFileSync(new URL("../../fixtures/decisions/verifications.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const ALL_TRUE = [true, true, true, true, true];
const good = VECTORS.find(({ out }) => String(out) === String(ALL_TRUE));
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

/** Verifies a decision from a new address. */
async function verify(id) {
  callers += 1;
  const reply = await edge.get(`/v1/graph/decision/${id}/verify`, { ip: `198.19.${callers >> 8}.${callers & 255}` });
  const { data } = JSON.parse(reply.body);
  const five = data && ["found", "envelopeIntact", "signatureValid", "signerRecognized", "signerActiveAtIssuance"].map((name) => data[name]);
  return { ...reply, data, five };
}

/** The evidence that the origin returns for a test vector. */
const evidence = ({ in: { envelope, signature, registry } }) => ({ record: { envelope, signature }, signers: registry });

test("each record gets its five answers", async () => {
  origin.mayKeep = false;
  for (const vector of VECTORS) {
    origin.decisions.set(vector.in.id, evidence(vector));
    const { status, five, data } = await verify(vector.in.id);
    assert.equal(status, 200);
    assert.deepEqual(five, vector.out, vector.name);
    assert.equal(data.decision === null, !data.envelopeIntact, vector.name);
  }
  origin.mayKeep = true;
  assert.ok(VECTORS.length > 10);
});

test("a missing decision is not found, and is found once it exists", async () => {
  origin.decisions.delete(good.in.id);
  assert.deepEqual((await verify(good.in.id)).five, [false, false, false, false, false]);
  origin.decisions.set(good.in.id, evidence(good));
  assert.deepEqual((await verify(good.in.id)).five, ALL_TRUE);
});

test("a verified decision stays verifiable while the origin is down", async () => {
  assert.deepEqual((await verify(good.in.id)).headers["x-cache"], "HIT");
  // The cached response predates a change of the signer registry and cannot be revalidated, so the edge cannot know which key was retired.
  origin.registry += 1;
  await edge.tellTags(`signers=${origin.registry}`);
  origin.isAway = true;
  const stale = await verify(good.in.id);
  assert.deepEqual([stale.status, stale.headers["x-cache"], stale.five], [200, "STALE-ERROR", [true, true, true, true, false]]);
  assert.match(stale.headers.warning, /^111 /);
  assert.match(stale.headers.age, /^\d+$/);
  assert.equal((await verify("0".repeat(64))).status, 503);
  origin.isAway = false;
});
