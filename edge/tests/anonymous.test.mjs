// No request of an anonymous caller counts against the origin. The requests are written byte by byte and sent to a real Worker.
// RDS_SEED repeats a run, RDS_FUZZ_REQUESTS makes it longer.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Dice } from "../../e2e/campaign/dice.mjs";
import { isTheEdges, signedAnswer } from "./link.mjs";
import { hostileRequest, sendRaw } from "./hostile.mjs";
import { Edge, SECRET, sha256, sleep, until } from "./stack.mjs";

const stack = JSON.parse(process.env.RDS_EDGE_STACKS)[5];
const seed = Number(process.env.RDS_SEED ?? Math.floor(Math.random() * 2 ** 32));
const requests = Number(process.env.RDS_FUZZ_REQUESTS ?? 3_000);
const edge = new Edge(stack);
const KEY = `pk_live_${"5".repeat(32)}`;
const RECORD = { id: 1, org_id: 1, plan: "decisioning", rpm: 100_000, shared: false, active: true, version: 1 };
/** The edge's counts of its own responses, by minute, as received for the status feed and the alerts. */
const counts = new Map();
let origin;

/** An origin with the limits of a real HTTP server: it refuses requests that are not the edge's, and signs only answers to the edge. */
async function answer(incoming, response) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!isTheEdges(SECRET, incoming, body)) return response.writeHead(401, { connection: "close" }).end();
  const say = (status, text, headers = {}) => {
    const all = { "content-type": "application/json", ...headers };
    const signature = signedAnswer(SECRET, incoming.headers["x-service-assertion"], status, all, text);
    response.writeHead(status, { ...all, "x-service-answer": signature }).end(text);
  };
  const { url } = incoming;
  if (url === "/__edge/alive") return say(204, "");
  if (url === "/__edge/keys") {
    const { digest } = JSON.parse(body);
    return say(200, JSON.stringify(digest === sha256(KEY) ? { answer: "known", record: RECORD } : { answer: "unknown" }));
  }
  if (url === "/__edge/answers") {
    const { source, minutes } = JSON.parse(body);
    // Totals only grow, so the newest of a minute replaces the earlier ones.
    for (const minute of minutes) counts.set(`${source} ${minute.minute}`, minute);
  }
  if (url.startsWith("/__edge/")) return say(204, "");
  // The Worker asks the origin only for the record of a decision. This origin answers a well-formed id with an empty record and a
  // malformed id with 400.
  const [, id] = /^\/v1\/graph\/decision\/([^?]*)\/verify/.exec(url) ?? [];
  if (/^[0-9a-f]{64}$/.test(id)) return say(200, JSON.stringify({ record: null, signers: [] }));
  if (id !== undefined) return say(400, JSON.stringify({ error: { code: "INVALID_PARAMETER", message: "", request_id: incoming.headers["x-request-id"] } }));
  // A search takes longer than the timeout that applies when a stale response exists; a long body is refused with a very long error.
  if (url.includes("slow")) await sleep(3_000);
  if (incoming.method === "POST" && body.length > 1_500) return say(400, JSON.stringify({ error: { code: "INVALID_BODY", message: "x".repeat(100_000) } }));
  return say(200, "{\"data\":[]}", { "cdn-cache-control": "max-age=1, stale-if-error=86400", etag: "W/\"1\"" });
}

before(async () => {
  origin = createServer(answer);
  await new Promise((resolve) => origin.listen(stack.origin, "127.0.0.1", resolve));
  await edge.start();
});
after(async () => {
  await edge.kill();
  origin.close();
  origin.closeAllConnections();
});

let reads = 0;
/** Asserts that another caller still gets an uncached page. */
async function othersAreServed(what) {
  reads += 1;
  const reply = await edge.get(`/v1/vaults?minTvl=${reads}`, { ip: `10.${(reads >> 16) & 255}.${(reads >> 8) & 255}.${reads & 255}` });
  assert.equal(reply.status, 200, `after ${what} the others are answered ${reply.status}: ${reply.body}`);
  assert.equal(reply.headers["x-cache"], "MISS");
}

let strangers = 0;
const stranger = () => {
  strangers += 1;
  return `172.${16 + ((strangers >> 16) & 15)}.${(strangers >> 8) & 255}.${strangers & 255}`;
};
const raw = (method, target, lines = "", body = "") =>
  Buffer.from(
    `${method} ${target} HTTP/1.1\r\nHost: x\r\nCF-Connecting-IP: ${stranger()}\r\n${lines}` +
      (method === "POST" ? `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body, "latin1")}\r\n` : "") +
      `Connection: close\r\n\r\n${body}`,
    "latin1",
  );
const keyed = `Authorization: Bearer ${KEY}\r\n`;

/** The known attacks, by description. */
const ATTACKS = {
  "an escaped .. segment": () => raw("GET", "/v1/vaults/%2e%2e"),
  "a half-escaped .. segment": () => raw("GET", "/v1/curators/.%2e"),
  "an escaped . segment": () => raw("GET", "/v1/vault/%2e/0x12/snapshots"),
  "a control byte in Idempotency-Key": () => raw("POST", "/v1/vaults/batch", "Idempotency-Key: a\x01b\r\n", "{\"ids\":[]}"),
  "a delete byte in Idempotency-Key": () => raw("POST", "/v1/vaults/batch", "Idempotency-Key: \x7f\r\n", "{\"ids\":[]}"),
  "a long Idempotency-Key": () => raw("POST", "/v1/vaults/batch", `Idempotency-Key: ${"x".repeat(33_000)}\r\n`, "{\"ids\":[]}"),
  "a control byte in Last-Event-ID": () => raw("GET", "/v1/events/stream", `${keyed}Last-Event-ID: v2:1\x01\r\n`),
  "a control byte in X-Service-Client-Ip": () => raw("GET", "/v1/events/stream", `${keyed}X-Service-Client-Ip: ::1\x01\r\n`),
  "a body with very many faults": () => raw("POST", "/v1/vaults/batch", "", `{"ids":[${"1,".repeat(899)}1]}`),
  "a slow search": () => raw("GET", "/v1/vaults?search=slow"),
};

for (const [what, request] of Object.entries(ATTACKS)) {
  test(`others are served after ${what}`, async () => {
    await Promise.all(Array.from({ length: 6 }, () => sendRaw(stack.port, request())));
    await othersAreServed(what);
    await Promise.all(Array.from({ length: 6 }, () => sendRaw(stack.port, request())));
    for (let n = 0; n < 3; n += 1) await othersAreServed(what);
  });
}

test(`others are served after ${requests} hostile requests (seed ${seed})`, { timeout: 600_000 }, async (context) => {
  const dice = new Dice(seed);
  const [statuses, ours] = [new Map(), []];
  const CONCURRENCY = 16;
  for (let sent = 0; sent < requests; sent += CONCURRENCY) {
    const batch = Array.from({ length: CONCURRENCY }, () => hostileRequest(dice, stranger()));
    const answered = await Promise.all(batch.map((request) => sendRaw(stack.port, request)));
    for (const [place, status] of answered.entries()) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status >= 500) ours.push(`${status} to ${batch[place].subarray(0, 600).toString("latin1")}`);
    }
    await othersAreServed(`requests ${sent} to ${sent + CONCURRENCY}`);
  }
  context.diagnostic(JSON.stringify(Object.fromEntries(statuses)));
  assert.ok((statuses.get(200) ?? 0) > requests / 20, "some of them reach the origin");
  assert.deepEqual(ours, [], "none causes a server error");
});

test("the status feed counts no failure", { timeout: 120_000 }, async () => {
  const sum = (field) => [...counts.values()].reduce((total, minute) => total + minute[field], 0);
  const [good, refused] = [sum("good"), sum("refused")];
  await until("the counts of these responses arrive", 90, async () => {
    await othersAreServed("all of it");
    return sum("good") > good && sum("refused") >= refused && sum("refused") > 0;
  });
  assert.equal(sum("failed"), 0, JSON.stringify([...counts]));
});
